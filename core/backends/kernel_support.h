// SPDX-License-Identifier: MIT
// Small things that host kernels share: a tensor seen as a matrix, dtype dispatch, the write modes.
#pragma once

#include <cstdint>

#include "core/backend.h"
#include "core/error.h"

namespace tapemeasure {

/// Size of the last axis; 1 without axes.
inline int64_t columns_of(const Tensor& x) { return x.shape().axes() == 0 ? 1 : x.shape()[-1]; }

/// Product of all axes but the last, also when the last is 0.
inline int64_t rows_of(const Tensor& x) {
  int64_t rows = 1;
  for (int axis = 0; axis + 1 < x.shape().axes(); ++axis) rows *= x.shape()[axis];
  return rows;
}

/// Sequences of a tensor of head rows. Rounded up, so that a view that begins inside the first
/// sequence still has them all.
inline int64_t sequences_of(const HeadRows& x) {
  return x.rows == 0 ? 0 : (rows_of(x.tensor) + x.rows - 1) / x.rows;
}

/// Calls body(T()) with T float or double. Throws ShapeError on another dtype.
template <class Body>
void with_floating(DType dtype, Body&& body) {
  check<ShapeError>(dtype == DType::kF32 || dtype == DType::kF64,
                    "this kernel takes f32 or f64, not {}", name_of(dtype));
  if (dtype == DType::kF32) {
    body(float());
  } else {
    body(double());
  }
}

/// y = value or y += value, rounded once.
template <class T>
void put(T& y, Write write, double value) {
  y = static_cast<T>(write == Write::kAdd ? static_cast<double>(y) + value : value);
}

}  // namespace tapemeasure
