// SPDX-License-Identifier: MIT
// Every kind of claim, in every verdict.
#include "app/ablation/claims.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tapemeasure {
namespace {

Plan plan_of(Quantity quantity) {
  Plan plan;
  plan.seeds = {1, 2, 3};
  Measure loss;
  loss.name = "at64";
  loss.quantity = quantity;
  Measure far = loss;
  far.name = "at128";
  plan.measures = {loss, far};
  return plan;
}

Claim claim_of(ClaimKind kind, std::vector<std::vector<Operand>> comparisons, double margin = 0) {
  Claim claim;
  claim.id = "x";
  claim.kind = kind;
  claim.margin = margin;
  claim.comparisons = std::move(comparisons);
  return claim;
}

const Operand kA{"a", "at64"}, kB{"b", "at64"}, kC{"c", "at64"}, kD{"d", "at64"},
    kFar{"a", "at128"};

using Seeds = std::map<int64_t, double>;
Seeds seeds(double first, double second, double third) {
  return {{1, first}, {2, second}, {3, third}};
}

Judgement judged(const Claim& claim, const Values& values,
                 Quantity quantity = Quantity::kBitsPerCharacter) {
  return judge(plan_of(quantity), claim, values).whole;
}

TEST(Claims, Better) {
  const Claim claim = claim_of(ClaimKind::kBetter, {{kA, kB}});
  const Seeds low = seeds(2.1, 2.2, 2.15), high = seeds(2.9, 3.0, 2.95);
  const Judgement holds = judged(claim, {{{"a", "at64"}, low}, {{"b", "at64"}, high}});
  EXPECT_EQ(holds.verdict, Verdict::kHolds);
  EXPECT_NEAR(holds.difference, 0.8, 1e-12);
  EXPECT_LT(holds.p, 1e-3);
  EXPECT_EQ(holds.n, 3);
  const Values swapped = {{{"a", "at64"}, high}, {{"b", "at64"}, low}};
  EXPECT_EQ(judged(claim, swapped).verdict, Verdict::kContradicted);
  EXPECT_EQ(judged(claim, swapped, Quantity::kExactMatch).verdict, Verdict::kHolds);
  const Values near = {{{"a", "at64"}, seeds(2.1, 2.3, 2.2)},
                       {{"b", "at64"}, seeds(2.2, 2.1, 2.4)}};
  EXPECT_EQ(judged(claim, near).verdict, Verdict::kWithinNoise);
}

// Seeds that differ widely, but each the same way: seen only where values are paired.
TEST(Claims, ValuesOfOneModelArePaired) {
  const Seeds at = seeds(2.0, 3.0, 4.0), far = seeds(2.1, 3.12, 4.11);
  EXPECT_EQ(judged(claim_of(ClaimKind::kBetter, {{kA, kFar}}),
                   {{{"a", "at64"}, at}, {{"a", "at128"}, far}})
                .verdict,
            Verdict::kHolds);
  EXPECT_EQ(
      judged(claim_of(ClaimKind::kBetter, {{kA, kB}}), {{{"a", "at64"}, at}, {{"b", "at64"}, far}})
          .verdict,
      Verdict::kWithinNoise);
}

TEST(Claims, NotWorse) {
  const Claim claim = claim_of(ClaimKind::kNotWorse, {{kFar, kA}}, 0.02);
  const Seeds at = seeds(2.35, 2.36, 2.37);
  const auto with = [&](double first, double second, double third) {
    return judged(claim, {{{"a", "at64"}, at}, {{"a", "at128"}, seeds(first, second, third)}});
  };
  EXPECT_EQ(with(2.355, 2.366, 2.374).verdict, Verdict::kHolds);
  EXPECT_EQ(with(2.30, 2.31, 2.33).verdict, Verdict::kHolds);
  EXPECT_EQ(with(2.45, 2.46, 2.48).verdict, Verdict::kContradicted);
  EXPECT_EQ(with(2.32, 2.40, 2.39).verdict, Verdict::kWithinNoise);
}

TEST(Claims, Small) {
  const Claim claim = claim_of(ClaimKind::kSmall, {{kA, kB, kC, kD}}, 0.15);
  const auto with = [&](double distance) {
    return judged(claim, {{{"a", "at64"}, seeds(2.2 + distance, 2.21 + distance, 2.22 + distance)},
                          {{"b", "at64"}, seeds(2.2, 2.22, 2.21)},
                          {{"c", "at64"}, seeds(3.0, 3.01, 3.02)},
                          {{"d", "at64"}, seeds(2.2, 2.22, 2.21)}});
  };
  EXPECT_EQ(with(0).verdict, Verdict::kHolds);
  EXPECT_EQ(with(0.05).verdict, Verdict::kHolds);
  EXPECT_EQ(with(-0.05).verdict, Verdict::kHolds);
  EXPECT_EQ(with(0.12).verdict, Verdict::kWithinNoise);
  EXPECT_EQ(with(0.3).verdict, Verdict::kContradicted);
  EXPECT_EQ(with(-0.3).verdict, Verdict::kContradicted);
}

TEST(Claims, BoundsOfEverySeed) {
  const Claim ratio = claim_of(ClaimKind::kRatioAbove, {{kA, kB}}, 20);
  const auto with = [&](const Seeds& a) {
    return judged(ratio, {{{"a", "at64"}, a}, {{"b", "at64"}, seeds(1, 1, 1)}},
                  Quantity::kTokensPerSecond);
  };
  EXPECT_EQ(with(seeds(20, 90, 100)).verdict, Verdict::kHolds);
  EXPECT_EQ(with(seeds(19, 90, 100)).verdict, Verdict::kWithinNoise);
  EXPECT_EQ(with(seeds(1, 9, 10)).verdict, Verdict::kContradicted);
  EXPECT_TRUE(std::isnan(with(seeds(20, 90, 100)).p));
  const Claim difference = claim_of(ClaimKind::kDifferenceAbove, {{kA, kB}});
  const Values equal = {{{"a", "at64"}, seeds(64, 64, 32)}, {{"b", "at64"}, seeds(32, 32, 32)}};
  EXPECT_EQ(judged(difference, equal).verdict, Verdict::kWithinNoise);
}

TEST(Claims, OfSeveralComparisonsTheWorstDecides) {
  const Claim claim = claim_of(ClaimKind::kBetter, {{kA, kB}, {kA, kC}});
  const Seeds low = seeds(2.1, 2.2, 2.15), high = seeds(2.9, 3.0, 2.95),
              near = seeds(2.1, 2.2, 2.2);
  const auto with = [&](const Seeds& c) {
    return judged(claim, {{{"a", "at64"}, low}, {{"b", "at64"}, high}, {{"c", "at64"}, c}});
  };
  EXPECT_EQ(with(high).verdict, Verdict::kHolds);
  EXPECT_EQ(with(near).verdict, Verdict::kWithinNoise);
  EXPECT_EQ(with(near).comparison, "a@at64 better than c@at64");
  EXPECT_EQ(with(seeds(1.1, 1.2, 1.1)).verdict, Verdict::kContradicted);
}

// 2.37 - 2.35 is not 0.02 in doubles, and neither are the differences of such seeds all the same.
TEST(Claims, BordersAreNotDecidedByRounding) {
  const Seeds at = seeds(2.35, 0.1, 1.7), over = seeds(2.37, 0.12, 1.72),
              same = seeds(0.3, 0.6, 1.2);
  const auto with = [&](const Claim& claim, const Seeds& a, const Seeds& far) {
    return judged(claim, {{{"a", "at64"}, a}, {{"a", "at128"}, far}});
  };
  const Judgement border = with(claim_of(ClaimKind::kNotWorse, {{kFar, kA}}, 0.02), at, over);
  EXPECT_EQ(border.verdict, Verdict::kWithinNoise);
  EXPECT_EQ(border.p, 0.5);
  EXPECT_EQ(border.n, 3);
  EXPECT_EQ(with(claim_of(ClaimKind::kNotWorse, {{kFar, kA}}, 0.0201), at, over).verdict,
            Verdict::kHolds);
  EXPECT_EQ(with(claim_of(ClaimKind::kNotWorse, {{kFar, kA}}, 0.0199), at, over).verdict,
            Verdict::kContradicted);
  const Claim above = claim_of(ClaimKind::kDifferenceAbove, {{kFar, kA}}, 0.02);
  EXPECT_EQ(with(above, at, over).verdict, Verdict::kContradicted);
  const Claim ratio = claim_of(ClaimKind::kRatioAbove, {{kA, kFar}}, 3);
  EXPECT_EQ(with(ratio, same, seeds(0.1, 0.2, 0.4)).verdict, Verdict::kHolds);
  const Claim small = claim_of(ClaimKind::kSmall, {{kFar, kA, kC, kD}}, 0.1);
  const Judgement edge = judged(small, {{{"a", "at64"}, at},
                                        {{"a", "at128"}, over},
                                        {{"c", "at64"}, seeds(0.3, 1.3, 2.5)},
                                        {{"d", "at64"}, seeds(0.1, 1.1, 2.3)}});
  EXPECT_EQ(edge.verdict, Verdict::kWithinNoise);
  EXPECT_EQ(edge.p, 0.5);
}

TEST(Claims, NothingOverNothingIsNoNumber) {
  const Seeds zero = seeds(0, 0, 0), one = seeds(1, 1, 1);
  const Claim ratio = claim_of(ClaimKind::kRatioAbove, {{kA, kB}}, 2);
  for (const Seeds& above : {zero, one}) {
    const Judgement none = judged(ratio, {{{"a", "at64"}, above}, {{"b", "at64"}, zero}});
    EXPECT_EQ(none.verdict, Verdict::kNotMeasured);
    EXPECT_EQ(none.comparison, "a@at64 / b@at64 at least 2: divides by zero");
    EXPECT_EQ(none.difference, 0);
  }
  // No spread, no difference and no gap: nothing is shown, in numbers.
  for (const Claim& claim :
       {claim_of(ClaimKind::kBetter, {{kA, kB}}), claim_of(ClaimKind::kBetter, {{kA, kFar}}),
        claim_of(ClaimKind::kNotWorse, {{kA, kB}}),
        claim_of(ClaimKind::kSmall, {{kA, kB, kC, kD}})}) {
    const Judgement none = judged(claim, {{{"a", "at64"}, one},
                                          {{"a", "at128"}, one},
                                          {{"b", "at64"}, one},
                                          {{"c", "at64"}, one},
                                          {{"d", "at64"}, one}});
    EXPECT_EQ(none.verdict, Verdict::kWithinNoise);
    EXPECT_EQ(none.p, 0.5);
    EXPECT_EQ(none.difference, 0);
    EXPECT_EQ(none.deviation, 0);
  }
}

// A perplexity of a model that ran away is finite, its square is not.
TEST(Claims, HugeValuesAreJudgedToo) {
  const Claim claim = claim_of(ClaimKind::kBetter, {{kA, kB}});
  const Judgement huge = judged(
      claim, {{{"a", "at64"}, seeds(20, 21, 22)}, {{"b", "at64"}, seeds(1e200, 1.1e200, 0.9e200)}});
  EXPECT_EQ(huge.verdict, Verdict::kHolds);
  EXPECT_NEAR(huge.deviation, 1e199, 1e197);
}

// R149: a mean over the seeds that are there is no result.
TEST(Claims, AMissingSeedIsNotJudged) {
  const Claim claim = claim_of(ClaimKind::kBetter, {{kA, kB}});
  const Values values = {{{"a", "at64"}, {{1, 2.1}, {3, 2.1}}},
                         {{"b", "at64"}, seeds(2.9, 3.0, 2.95)}};
  EXPECT_EQ(judged(claim, values).verdict, Verdict::kNotMeasured);
  EXPECT_EQ(judged(claim, {}).verdict, Verdict::kNotMeasured);
}

}  // namespace
}  // namespace tapemeasure
