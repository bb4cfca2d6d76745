// SPDX-License-Identifier: MIT
#include "app/ablation/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

namespace tapemeasure {

namespace {

/// P(T > t). Without any spread the sign alone decides, and equality says nothing.
double upper_tail(double distance, const DifferenceTest& test) {
  if (std::abs(distance) <= test.resolution) return 0.5;
  if (test.error <= test.resolution) return distance > 0 ? 0 : 1;
  const boost::math::students_t distribution(test.freedom);
  return boost::math::cdf(boost::math::complement(distribution, distance / test.error));
}

}  // namespace

double magnitude_of(std::span<const double> values) {
  double magnitude = 0;
  for (const double value : values) magnitude = std::max(magnitude, std::abs(value));
  return magnitude;
}

double resolution_of(double magnitude) {
  // A few thousand units in the last place: more than some sums lose, less than any seed changes.
  constexpr double kRounding = 1e-12;
  return kRounding * magnitude;
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double largest = 0, squares = 0;  // squares of what is huge would be infinite
  for (const double value : values) largest = std::max(largest, std::abs(value - mean));
  if (largest == 0) return 0;
  for (const double value : values) squares += std::pow((value - mean) / largest, 2);
  return largest * std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double DifferenceTest::p_above(double bound) const { return upper_tail(difference - bound, *this); }

double DifferenceTest::p_below(double bound) const { return upper_tail(bound - difference, *this); }

DifferenceTest paired_test(std::span<const double> differences, double magnitude) {
  const double n = static_cast<double>(differences.size());
  return {mean_of(differences), deviation_of(differences) / std::sqrt(n), n - 1,
          resolution_of(magnitude)};
}

DifferenceTest welch_test(std::span<const double> a, std::span<const double> b) {
  const auto error_of_mean = [](std::span<const double> values) {
    return deviation_of(values) / std::sqrt(static_cast<double>(values.size()));
  };
  const double left = error_of_mean(a), error = std::hypot(left, error_of_mean(b));
  const double resolution = resolution_of(std::max(magnitude_of(a), magnitude_of(b)));
  // Welch and Satterthwaite's degrees of freedom, from a's share of the variance.
  const double share = error > 0 ? std::pow(left / error, 2) : 0.5;
  const double freedom = 1 / (share * share / static_cast<double>(a.size() - 1) +
                              (1 - share) * (1 - share) / static_cast<double>(b.size() - 1));
  return {mean_of(a) - mean_of(b), error, freedom, resolution};
}

}  // namespace tapemeasure
