// SPDX-License-Identifier: MIT
#include "data/batch.h"

namespace tapemeasure {

int32_t* integers(Tensor& tensor, Backend& backend, const Shape& shape) {
  if (!tensor.defined() || tensor.shape() != shape) tensor = empty(backend, shape, DType::kI32);
  return tensor.data<int32_t>();
}

}  // namespace tapemeasure
