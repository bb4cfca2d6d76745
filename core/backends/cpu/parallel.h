// SPDX-License-Identifier: MIT
// Splitting loops over threads. Outputs are split, never sums; a sum over rows goes through blocks
// whose size depends on the shape alone, so that the number of threads cannot change a bit.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace tapemeasure::cpu {

/// Below this many elements a fork costs more than it saves.
inline constexpr int64_t kWorthAFork = 16384;

/// Calls body(begin, end) on disjoint ranges that cover [0, count), one per thread. `work` is the
/// number of elements touched in all.
template <class Body>
void parallel_ranges(int threads, int64_t count, int64_t work, Body&& body) {
  if (count <= 0) return;
  const int team = static_cast<int>(std::min<int64_t>(threads, count));
  if (team <= 1 || work < kWorthAFork) return body(int64_t{0}, count);
#pragma omp parallel num_threads(team)
  {
    const int64_t n = omp_get_num_threads(), t = omp_get_thread_num();
    const int64_t begin = count * t / n, end = count * (t + 1) / n;
    if (begin < end) body(begin, end);
  }
}

/// The same for single elements, cut at multiples of `unit`.
template <class Body>
void parallel_elements(int threads, int64_t count, Body&& body, int64_t unit = 1024) {
  parallel_ranges(threads, (count + unit - 1) / unit, count, [&](int64_t begin, int64_t end) {
    body(begin * unit, std::min(end * unit, count));
  });
}

/// Rows per block of a sum over `rows` rows: blocks and their partial sums are about as many.
inline int64_t block_rows(int64_t rows) {
  int64_t block = 64;
  while (block * block < rows) block *= 2;
  return block;
}

}  // namespace tapemeasure::cpu
