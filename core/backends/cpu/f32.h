// SPDX-License-Identifier: MIT
// The elements of an f32 tensor: this backend's only floating dtype.
#pragma once

#include "core/backend.h"
#include "core/error.h"

namespace tapemeasure::cpu {

/// Throws ShapeError on another dtype. REQUIRES: x.defined().
inline float* f32(const Tensor& x) {
  check<ShapeError>(x.dtype() == DType::kF32, "backend cpu takes f32, not {} {}",
                    name_of(x.dtype()), x.shape());
  return x.data<float>();
}

/// The same, or null for an undefined tensor.
inline float* f32_or_null(const Tensor& x) { return x.defined() ? f32(x) : nullptr; }

}  // namespace tapemeasure::cpu
