// SPDX-License-Identifier: MIT
// Judges a paper's claims by the values of the cells.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/ablation/plan.h"

namespace tapemeasure {

/// Values by seed of (arm, measure). A seed that is missing is not there.
using Values = std::map<std::pair<std::string, std::string>, std::map<int64_t, double>>;

enum class Verdict { kHolds, kWithinNoise, kContradicted, kNotMeasured };
std::string name_of(Verdict verdict);

/// One comparison, or the claim as a whole.
struct Judgement {
  Verdict verdict = Verdict::kNotMeasured;
  double p = 1;            ///< of the direction claimed; NaN where no test is made (*_above)
  double difference = 0;   ///< positive: as claimed
  double deviation = 0;    ///< standard deviation of the difference between seeds
  int64_t n = 0;           ///< seeds
  std::string comparison;  ///< "k2 better than k0 (at64)"
};

struct JudgedClaim {
  Judgement whole;  ///< of the comparison that decides: the largest p
  std::vector<Judgement> parts;
};

/// The level of every test.
inline constexpr double kSignificance = 0.05;

/// How many of the plan's claims are judged by tests, and so may come out by chance.
int64_t tested_claims(const Plan& plan);

JudgedClaim judge(const Plan& plan, const Claim& claim, const Values& values);

}  // namespace tapemeasure
