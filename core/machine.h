// SPDX-License-Identifier: MIT
// What this machine does at best, measured and not looked up, and what this process took of it: the
// scale on which speeds and sizes are read.
#pragma once

#include <cstdint>

namespace tapemeasure {

/// The most f32 fused multiply-adds of `threads` threads, in registers; two operations each.
/// Floating-point operations a second, the best of turns over `seconds`.
double multiply_add_rate(int threads, double seconds);

/// The same of dot products of bf16 pairs into f32 (AVX512-BF16), four operations a lane; 0 where
/// the processor has none.
double bf16_dot_rate(int threads, double seconds);

/// a = b + s * c over arrays of 64 MiB, beyond the caches (the triad of McCalpin's STREAM). Bytes
/// that the loop names a second, the best of turns over `seconds`; a store that reads its line
/// first is not counted twice.
double triad_bandwidth(int threads, double seconds);

/// The most bytes that this process had resident so far.
int64_t peak_resident_bytes();

}  // namespace tapemeasure
