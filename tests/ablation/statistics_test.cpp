// SPDX-License-Identifier: MIT
// Cases that can be worked out by hand.
#include "app/ablation/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tapemeasure {
namespace {

using List = std::vector<double>;

TEST(Statistics, MeanAndDeviation) {
  EXPECT_DOUBLE_EQ(mean_of(List{1, 2, 6}), 3);
  EXPECT_DOUBLE_EQ(deviation_of(List{1, 2, 6}), std::sqrt(7.0));
  EXPECT_EQ(deviation_of(List{4}), 0);
}

// With 2 degrees of freedom the tail has a closed form: 1/2 - t / (2 sqrt(2 + t^2)).
TEST(Statistics, Paired) {
  const List differences = {0.1, 0.3, 0.2};
  const DifferenceTest test = paired_test(differences, 1);
  EXPECT_DOUBLE_EQ(test.difference, 0.2);
  EXPECT_EQ(test.freedom, 2);
  const double t = 0.2 / (0.1 / std::sqrt(3.0));
  EXPECT_NEAR(test.p_above(0), 0.5 - t / (2 * std::sqrt(2 + t * t)), 1e-12);
  EXPECT_NEAR(test.p_above(0) + test.p_below(0), 1, 1e-12);
  EXPECT_NEAR(test.p_above(0.2), 0.5, 1e-12);
  EXPECT_LT(test.p_below(0.5), 0.05);
}

// x = c(2.1, 2.3, 2.2, 2.5), y = c(2.9, 3.4, 2.8): Welch's t worked out step by step.
TEST(Statistics, Welch) {
  const List x = {2.1, 2.3, 2.2, 2.5}, y = {2.9, 3.4, 2.8};
  const double variance_x = 0.0875 / 3 / 4, variance_y = (0.0178 + 0.1344 + 0.0544) / 2 / 3;
  const DifferenceTest test = welch_test(y, x);
  EXPECT_NEAR(test.difference, 9.1 / 3 - 9.1 / 4, 1e-12);
  EXPECT_NEAR(test.error, std::sqrt(variance_x + variance_y), 1e-4);
  const double sum = variance_x + variance_y;
  EXPECT_NEAR(test.freedom, sum * sum / (variance_x * variance_x / 3 + variance_y * variance_y / 2),
              1e-2);
  EXPECT_LT(test.p_above(0), 0.05);
  EXPECT_GT(test.p_above(0), 0.01);
}

TEST(Statistics, EqualValuesAreDecidedByTheirSign) {
  EXPECT_EQ(welch_test(List{1, 1}, List{0, 0}).p_above(0), 0);
  EXPECT_EQ(welch_test(List{0, 0}, List{1, 1}).p_above(0), 1);
  EXPECT_EQ(paired_test(List{0, 0, 0}, 1).p_above(0), 0.5);
}

}  // namespace
}  // namespace tapemeasure
