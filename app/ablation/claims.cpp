// SPDX-License-Identifier: MIT
#include "app/ablation/claims.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/ablation/statistics.h"
#include "core/error.h"

namespace tapemeasure {

namespace {

constexpr double kNoTest = std::numeric_limits<double>::quiet_NaN();

/// The values of one comparison's operands, seed by seed in the plan's order.
using Samples = std::vector<std::vector<double>>;

/// None when a seed of any operand is missing.
std::optional<Samples> samples_of(const Plan& plan, const std::vector<Operand>& operands,
                                  const Values& values) {
  Samples samples;
  for (const Operand& operand : operands) {
    const auto found = values.find({operand.arm, operand.measure});
    if (found == values.end()) return std::nullopt;
    samples.emplace_back();
    for (const int64_t seed : plan.seeds) {
      const auto value = found->second.find(seed);
      if (value == found->second.end()) return std::nullopt;
      samples.back().push_back(value->second);
    }
  }
  return samples;
}

double largest_of(const Samples& samples) {
  double largest = 0;
  for (const std::vector<double>& sample : samples)
    largest = std::max(largest, magnitude_of(sample));
  return largest;
}

template <class Combine>
std::vector<double> by_seed(const Samples& samples, Combine combine) {
  std::vector<double> result;
  for (size_t i = 0; i < samples[0].size(); ++i) result.push_back(combine(i));
  return result;
}

Verdict verdict_of(double p_claimed, double p_contrary) {
  if (p_claimed < kSignificance) return Verdict::kHolds;
  return p_contrary < kSignificance ? Verdict::kContradicted : Verdict::kWithinNoise;
}

/// How much better the first operand is than the second. Both of one trained model: seed by seed.
DifferenceTest advantage(const std::vector<Operand>& operands, const Samples& samples,
                         bool more_is_better) {
  const auto& better = samples[more_is_better ? 0 : 1];
  const auto& worse = samples[more_is_better ? 1 : 0];
  if (operands[0].arm != operands[1].arm) return welch_test(better, worse);
  return paired_test(by_seed(samples, [&](size_t i) { return better[i] - worse[i]; }),
                     largest_of(samples));
}

void judge_advantage(const DifferenceTest& test, double allowance, Judgement& judgement) {
  judgement.difference = test.difference;
  judgement.deviation = test.error * std::sqrt(static_cast<double>(judgement.n));
  judgement.p = test.p_above(-allowance);
  judgement.verdict = verdict_of(judgement.p, test.p_below(-allowance));
}

/// |A - B| is at most `fraction` of C - D: both f G - D and f G + D are above 0.
void judge_small(const Samples& s, double fraction, bool more_is_better, Judgement& judgement) {
  const double sign = more_is_better ? -1 : 1;  // the gap is positive where C is worse than D
  const auto gap = [&](size_t i) { return fraction * sign * (s[2][i] - s[3][i]); };
  const auto distance = [&](size_t i) { return s[0][i] - s[1][i]; };
  const std::vector<double> contrasts[] = {
      by_seed(s, [&](size_t i) { return gap(i) - distance(i); }),
      by_seed(s, [&](size_t i) { return gap(i) + distance(i); })};
  double contrary = 1;
  judgement.p = 0;
  for (const std::vector<double>& contrast : contrasts) {
    const DifferenceTest test = paired_test(contrast, largest_of(s));
    contrary = std::min(contrary, test.p_below(0));
    if (test.p_above(0) < judgement.p) continue;
    judgement.p = test.p_above(0);
    judgement.difference = test.difference;
    judgement.deviation = deviation_of(contrast);
  }
  judgement.verdict = verdict_of(judgement.p, contrary);
}

/// Every seed's value against the margin. What is as near as rounding is equal to it.
void judge_bound(const std::vector<double>& each, const Claim& claim, double magnitude,
                 Judgement& judgement) {
  const double rounding = resolution_of(std::max(magnitude, std::abs(claim.margin)));
  const auto kept = [&](double value) {
    return claim.kind == ClaimKind::kRatioAbove ? value >= claim.margin - rounding
                                                : value > claim.margin + rounding;
  };
  const bool all = std::all_of(each.begin(), each.end(), kept);
  const bool none = std::none_of(each.begin(), each.end(), kept);
  judgement.verdict = all ? Verdict::kHolds : none ? Verdict::kContradicted : Verdict::kWithinNoise;
  judgement.p = kNoTest;
  judgement.difference = mean_of(each);
  judgement.deviation = deviation_of(each);
}

/// A ratio to nothing is no number: then nothing is judged.
void judge_ratio(const Samples& s, const Claim& claim, Judgement& judgement) {
  const std::vector<double> ratios = by_seed(s, [&](size_t i) { return s[0][i] / s[1][i]; });
  if (std::all_of(ratios.begin(), ratios.end(), [](double ratio) { return std::isfinite(ratio); }))
    return judge_bound(ratios, claim, 0, judgement);
  judgement.n = 0;
  judgement.comparison += ": divides by zero";
}

std::string text_of(const Claim& claim, const std::vector<Operand>& o) {
  const auto name = [](const Operand& each) { return each.arm + "@" + each.measure; };
  switch (claim.kind) {
    case ClaimKind::kBetter:
      return fmt::format("{} better than {}", name(o[0]), name(o[1]));
    case ClaimKind::kNotWorse:
      return fmt::format("{} not worse than {} by {}", name(o[0]), name(o[1]), claim.margin);
    case ClaimKind::kSmall:
      return fmt::format("{} - {} within {} of {} - {}", name(o[0]), name(o[1]), claim.margin,
                         name(o[2]), name(o[3]));
    case ClaimKind::kRatioAbove:
      return fmt::format("{} / {} at least {}", name(o[0]), name(o[1]), claim.margin);
    case ClaimKind::kDifferenceAbove:
      return fmt::format("{} - {} above {}", name(o[0]), name(o[1]), claim.margin);
  }
  throw Error("a claim without a kind");
}

Judgement judge_one(const Plan& plan, const Claim& claim, const std::vector<Operand>& operands,
                    const Values& values) {
  Judgement judgement;
  judgement.comparison = text_of(claim, operands);
  const std::optional<Samples> samples = samples_of(plan, operands, values);
  if (!samples || plan.seeds.size() < 2) return judgement;
  const Samples& s = *samples;
  const bool more = more_is_better(plan.measure(operands[0].measure).quantity);
  judgement.n = static_cast<int64_t>(plan.seeds.size());
  switch (claim.kind) {
    case ClaimKind::kBetter:
      judge_advantage(advantage(operands, s, more), 0, judgement);
      break;
    case ClaimKind::kNotWorse:
      judge_advantage(advantage(operands, s, more), claim.margin, judgement);
      break;
    case ClaimKind::kSmall:
      judge_small(s, claim.margin, more, judgement);
      break;
    case ClaimKind::kRatioAbove:
      judge_ratio(s, claim, judgement);
      break;
    case ClaimKind::kDifferenceAbove:
      judge_bound(by_seed(s, [&](size_t i) { return s[0][i] - s[1][i]; }), claim, largest_of(s),
                  judgement);
      break;
  }
  return judgement;
}

/// Which of two parts decides: the worse verdict, then the larger p.
bool decides_over(const Judgement& a, const Judgement& b) {
  const auto weight = [](const Judgement& each) {
    switch (each.verdict) {
      case Verdict::kContradicted:
        return 3;
      case Verdict::kNotMeasured:
        return 2;
      case Verdict::kWithinNoise:
        return 1;
      case Verdict::kHolds:
        return 0;
    }
    throw Error("no verdict");
  };
  return weight(a) != weight(b) ? weight(a) > weight(b) : a.p > b.p;
}

}  // namespace

std::string name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHolds:
      return "holds";
    case Verdict::kWithinNoise:
      return "within noise";
    case Verdict::kContradicted:
      return "contradicted";
    case Verdict::kNotMeasured:
      return "not measured";
  }
  throw Error("no verdict");
}

int64_t tested_claims(const Plan& plan) {
  return std::count_if(plan.claims.begin(), plan.claims.end(), [](const Claim& claim) {
    return claim.kind != ClaimKind::kRatioAbove && claim.kind != ClaimKind::kDifferenceAbove;
  });
}

JudgedClaim judge(const Plan& plan, const Claim& claim, const Values& values) {
  JudgedClaim judged;
  for (const std::vector<Operand>& comparison : claim.comparisons)
    judged.parts.push_back(judge_one(plan, claim, comparison, values));
  judged.whole = judged.parts[0];
  for (const Judgement& part : judged.parts)
    if (decides_over(part, judged.whole)) judged.whole = part;
  return judged;
}

}  // namespace tapemeasure
