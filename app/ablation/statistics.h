// SPDX-License-Identifier: MIT
// The t tests that judge claims.
#pragma once

#include <span>

namespace tapemeasure {

/// The largest absolute value.
double magnitude_of(std::span<const double> values);
double mean_of(std::span<const double> values);
/// Of a sample (n - 1); 0 for one value.
double deviation_of(std::span<const double> values);

/// What a sample says of the true mean of a difference.
struct DifferenceTest {
  double difference = 0;  ///< mean
  double error = 0;       ///< standard error of the mean
  double freedom = 0;     ///< degrees of freedom
  double resolution = 0;  ///< what is no larger is the rounding of doubles, and counts as 0

  /// One-sided p of "the true mean is above `bound`", and of "below".
  double p_above(double bound) const;
  double p_below(double bound) const;
};

/// Differences of values of this size that are no larger come from the rounding of doubles.
double resolution_of(double magnitude);

/// Of values that belong together, seed by seed; `magnitude` is the largest of what they are
/// differences of. REQUIRES: two or more.
DifferenceTest paired_test(std::span<const double> differences, double magnitude);
/// Of mean(a) - mean(b), samples of unequal variance (Welch 1947). REQUIRES: two or more of each.
DifferenceTest welch_test(std::span<const double> a, std::span<const double> b);

}  // namespace tapemeasure
