// SPDX-License-Identifier: MIT
// Tables of sines and cosines, computed in double.
#pragma once

#include <cstdint>
#include <vector>

namespace tapemeasure {

struct SinusoidTable {
  int64_t width = 0;
  bool interleaved = true;  ///< sine and cosine side by side; else all sines, then all cosines
  bool t2t = false;         ///< frequencies 10000^(-t / (width/2 - 1)); else 10000^(-2t / width)
  double scale = 1;

  /// Rows for positions first, first + step, ...: [rows, width]. An odd width's last channel is 0.
  std::vector<double> rows(int64_t first, int64_t step, int64_t rows) const;
};

}  // namespace tapemeasure
