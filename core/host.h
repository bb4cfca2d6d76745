// SPDX-License-Identifier: MIT
// Tensors from numbers of the host, and back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor.h"

namespace tapemeasure {

/// A floating tensor with `values` rounded to `dtype` (f32 or f64). Host backends.
Tensor to_tensor(Backend& backend, const Shape& shape, DType dtype, std::span<const double> values);
/// An i32 tensor.
Tensor to_tensor(Backend& backend, const Shape& shape, std::span<const int32_t> values);
/// The elements of a floating tensor as doubles.
std::vector<double> to_doubles(const Tensor& tensor);

}  // namespace tapemeasure
