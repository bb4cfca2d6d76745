// SPDX-License-Identifier: MIT
// bf16, the upper half of an f32: rounded to nearest, ties to even; NaN stays NaN.
#pragma once

#include <cstdint>

namespace tapemeasure::cpu {

/// `count` numbers as bf16.
void to_bf16(int threads, const float* from, int64_t count, uint16_t* to);
/// The same numbers as f32, their lower halves 0.
void round_to_bf16(int threads, const float* from, int64_t count, float* to);

}  // namespace tapemeasure::cpu
