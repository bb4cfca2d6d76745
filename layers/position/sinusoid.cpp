// SPDX-License-Identifier: MIT
#include "layers/position/sinusoid.h"

#include <algorithm>
#include <cmath>

namespace tapemeasure {

std::vector<double> SinusoidTable::rows(int64_t first, int64_t step, int64_t rows) const {
  const int64_t half = width / 2;
  std::vector<double> table(static_cast<size_t>(rows * width), 0);
  for (int64_t t = 0; t < half; ++t) {
    const double exponent = t2t ? t / std::max<double>(half - 1, 1) : 2.0 * t / width;
    const double frequency = std::pow(10000.0, -exponent);
    for (int64_t row = 0; row < rows; ++row) {
      const double angle = static_cast<double>(first + row * step) * frequency;
      double* channels = table.data() + row * width;
      channels[interleaved ? 2 * t : t] = scale * std::sin(angle);
      channels[interleaved ? 2 * t + 1 : half + t] = scale * std::cos(angle);
    }
  }
  return table;
}

}  // namespace tapemeasure
