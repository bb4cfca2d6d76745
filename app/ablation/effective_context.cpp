// SPDX-License-Identifier: MIT
#include "app/ablation/effective_context.h"

#include <algorithm>
#include <cmath>

namespace tapemeasure {

namespace {

constexpr double kLeastGain = 0.01;

/// b(c, t): the best of the group for each target.
std::vector<double> baseline(const std::vector<ContextLosses>& group, int64_t length) {
  std::vector<double> best = group[0].at(length);
  for (const ContextLosses& member : group)
    for (size_t t = 0; t < best.size(); ++t) best[t] = std::min(best[t], member.at(length)[t]);
  return best;
}

/// f(c, c'): the mean over targets of min(b(c, t), l(c', t)).
double mean_loss(const std::vector<double>& best, const std::vector<double>& losses) {
  double sum = 0;
  for (size_t t = 0; t < best.size(); ++t) sum += std::min(best[t], losses[t]);
  return sum / static_cast<double>(best.size());
}

}  // namespace

int64_t effective_context(const ContextLosses& model, const std::vector<ContextLosses>& group) {
  auto current = model.begin();
  for (auto next = std::next(current); next != model.end(); current = next++) {
    const std::vector<double> best = baseline(group, current->first);
    const double before = std::exp(mean_loss(best, current->second));
    const double after = std::exp(mean_loss(best, next->second));
    if ((before - after) / before < kLeastGain) break;
  }
  return current->first;
}

}  // namespace tapemeasure
