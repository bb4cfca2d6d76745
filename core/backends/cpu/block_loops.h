// SPDX-License-Identifier: MIT
// Loops over small row-major f32 blocks that are no products, on the calling thread.
#pragma once

#include <cstdint>

#include "core/backend.h"

namespace tapemeasure::cpu {

/// y[c, r] = x[r, c], or += ; strides may be negative.
void transpose(const float* x, int64_t x_stride, int64_t rows, int64_t columns, float* y,
               int64_t y_stride, Write write = Write::kSet);

/// y[r, :] = factor * (x[r, :] + shift), or += ; `shift` is optional.
void scale_rows(const float* x, int64_t x_stride, const float* shift, float factor, int64_t rows,
                int64_t width, float* y, int64_t y_stride, Write write = Write::kSet);
/// y[r, :] = factors[r] * x[r, :]
void scale_each_row(const float* x, int64_t x_stride, const float* factors, int64_t rows,
                    int64_t width, float* y, int64_t y_stride);
/// y[r] = x[r, :] . z[r, :]; with z_stride 0 all with the same z.
void dot_rows(const float* x, int64_t x_stride, const float* z, int64_t z_stride, int64_t rows,
              int64_t width, float* y);
/// y[r, :] = 0
void clear_rows(int64_t rows, int64_t width, float* y, int64_t y_stride);
/// y[r, :] += weights[r] * z
void add_outer(const float* weights, const float* z, int64_t rows, int64_t width, float* y,
               int64_t y_stride);
/// y += sum over r of weights[r] * x[r, :]; without weights, of x[r, :].
void add_weighted_rows(const float* weights, const float* x, int64_t x_stride, int64_t rows,
                       int64_t width, float* y);

}  // namespace tapemeasure::cpu
