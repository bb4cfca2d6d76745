// SPDX-License-Identifier: MIT
#include "core/host.h"

#include <algorithm>

#include "core/backend.h"
#include "core/error.h"

namespace tapemeasure {

Tensor to_tensor(Backend& backend, const Shape& shape, DType dtype,
                 std::span<const double> values) {
  check<ShapeError>(shape.count() == static_cast<int64_t>(values.size()),
                    "{} numbers do not fill {}", values.size(), shape);
  const Tensor tensor = empty(backend, shape, dtype);
  if (dtype == DType::kF64) {
    std::copy(values.begin(), values.end(), tensor.data<double>());
  } else {
    std::transform(values.begin(), values.end(), tensor.data<float>(),
                   [](double value) { return static_cast<float>(value); });
  }
  return tensor;
}

Tensor to_tensor(Backend& backend, const Shape& shape, std::span<const int32_t> values) {
  check<ShapeError>(shape.count() == static_cast<int64_t>(values.size()),
                    "{} numbers do not fill {}", values.size(), shape);
  const Tensor tensor = empty(backend, shape, DType::kI32);
  std::copy(values.begin(), values.end(), tensor.data<int32_t>());
  return tensor;
}

std::vector<double> to_doubles(const Tensor& tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.count()));
  if (tensor.dtype() == DType::kF64) {
    std::copy_n(tensor.data<double>(), values.size(), values.begin());
  } else {
    std::copy_n(tensor.data<float>(), values.size(), values.begin());
  }
  return values;
}

}  // namespace tapemeasure
