// SPDX-License-Identifier: MIT
#include "core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace tapemeasure {
namespace {

TEST(Random, PermutationVisitsEachIndexOnce) {
  for (const uint64_t size : {1, 2, 3, 5, 16, 17, 1000}) {
    const Permutation permutation(random_key(1, Stream::kData, 0, size), size);
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < size; ++i) seen.insert(permutation(i));
    EXPECT_EQ(seen.size(), size);
    EXPECT_LT(*seen.rbegin(), size);
  }
}

TEST(Random, PermutationsOfTwoEpochsDiffer) {
  const Permutation a(1, 1000), b(2, 1000);
  int same = 0;
  for (uint64_t i = 0; i < 1000; ++i) same += a(i) == b(i);
  EXPECT_LT(same, 10);
}

TEST(Random, NormalsHaveTheirMoments) {
  double sum = 0, squares = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random_normal(3, static_cast<uint64_t>(i));
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.015);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
}

// R3: streams for different purposes never share a key.
TEST(Random, StreamsStepsAndSitesHaveKeysOfTheirOwn) {
  std::set<uint64_t> keys;
  for (const Stream stream : {Stream::kInitialisation, Stream::kData, Stream::kDropout}) {
    for (uint64_t step = 0; step < 20; ++step) {
      for (uint64_t site = 0; site < 20; ++site) keys.insert(random_key(1, stream, step, site));
    }
  }
  EXPECT_EQ(keys.size(), 3u * 20 * 20);
}

TEST(Random, BelowStaysBelow) {
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 200; ++i) {
    const uint64_t x = random_below(5, i, 7);
    ASSERT_LT(x, 7u);
    seen.insert(x);
  }
  EXPECT_EQ(seen.size(), 7u);
}

}  // namespace
}  // namespace tapemeasure
