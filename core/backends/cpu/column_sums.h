// SPDX-License-Identifier: MIT
// Sums of the columns of a matrix, each in the order of its rows.
#pragma once

#include <cstdint>

namespace tapemeasure::cpu {

struct Columns {
  const float* x;
  int64_t rows, stride, columns;  ///< row r begins at x + r * stride
  float factor = 1;
};

/// y[c] = or += factor * sum over r of x[r, c], one row after the other. Threads share the columns.
void column_sums(int threads, const Columns& matrix, float* y, bool add);

}  // namespace tapemeasure::cpu
