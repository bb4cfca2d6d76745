// SPDX-License-Identifier: MIT
// Products of small row-major blocks, on the calling thread. Leading dimensions are free, so a
// block may be part of a larger matrix, or, with one more or less than its row stride, a run of its
// diagonals.
#pragma once

#include <cstdint>

namespace tapemeasure::cpu {

/// c [m, n] = op(a) b, or c += op(a) b. a is [m, k], or [k, m] if `transpose_a`; b is [k, n].
struct BlockProduct {
  int64_t m = 0, n = 0, k = 0;
  int64_t a_stride = 0, b_stride = 0, c_stride = 0;
  bool transpose_a = false;
  bool add = false;
};

void block_gemm(const BlockProduct& how, const float* a, const float* b, float* c);

}  // namespace tapemeasure::cpu
