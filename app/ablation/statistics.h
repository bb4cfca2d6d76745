// SPDX-License-Identifier: MIT
// The t tests that judge claims.
#pragma once

#include <span>

namespace tapemeasure {

double mean_of(std::span<const double> values);
/// Of a sample (n - 1); 0 for one value.
double deviation_of(std::span<const double> values);

/// What a sample says of the true mean of a difference.
struct DifferenceTest {
  double difference = 0;  ///< mean
  double error = 0;       ///< standard error of the mean
  double freedom = 0;     ///< degrees of freedom

  /// One-sided p of "the true mean is above `bound`", and of "below".
  double p_above(double bound) const;
  double p_below(double bound) const;
};

/// Of values that belong together, seed by seed. REQUIRES: two or more.
DifferenceTest paired_test(std::span<const double> differences);
/// Of mean(a) - mean(b), samples of unequal variance (Welch 1947). REQUIRES: two or more of each.
DifferenceTest welch_test(std::span<const double> a, std::span<const double> b);

}  // namespace tapemeasure
