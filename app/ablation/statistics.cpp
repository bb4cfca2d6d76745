// SPDX-License-Identifier: MIT
#include "app/ablation/statistics.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

namespace tapemeasure {

namespace {

/// P(T > t). Without any spread the sign alone decides, and equality says nothing.
double upper_tail(double distance, double error, double freedom) {
  if (error == 0) return distance > 0 ? 0 : distance < 0 ? 1 : 0.5;
  const boost::math::students_t distribution(freedom);
  return boost::math::cdf(boost::math::complement(distribution, distance / error));
}

}  // namespace

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double DifferenceTest::p_above(double bound) const {
  return upper_tail(difference - bound, error, freedom);
}

double DifferenceTest::p_below(double bound) const {
  return upper_tail(bound - difference, error, freedom);
}

DifferenceTest paired_test(std::span<const double> differences) {
  const double n = static_cast<double>(differences.size());
  return {mean_of(differences), deviation_of(differences) / std::sqrt(n), n - 1};
}

DifferenceTest welch_test(std::span<const double> a, std::span<const double> b) {
  const auto part = [](std::span<const double> values) {  // variance of its mean
    const double deviation = deviation_of(values);
    return deviation * deviation / static_cast<double>(values.size());
  };
  const double left = part(a), right = part(b), sum = left + right;
  const double parts = left * left / static_cast<double>(a.size() - 1) +
                       right * right / static_cast<double>(b.size() - 1);
  // Welch and Satterthwaite's degrees of freedom.
  return {mean_of(a) - mean_of(b), std::sqrt(sum), parts > 0 ? sum * sum / parts : 1};
}

}  // namespace tapemeasure
