// SPDX-License-Identifier: MIT
// One optimizer step: global-norm clipping, decay groups, then the update rule.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "optim/update_rule.h"

namespace tapemeasure {

class Optimizer {
 public:
  /// The options and the store must outlive it.
  Optimizer(const UpdateRuleOptions& options, ParameterStore& store);

  /// Length of the gradient over all parameters, before clipping. Not finite if any gradient is.
  double gradient_norm() const;
  /// The first parameter whose gradient is not finite, or "".
  std::string first_nonfinite() const;
  /// Updates all parameters: gradients times min(1, clip_norm / (norm + 1e-6)), then the rule.
  /// Returns the rate that was used.
  double step(double schedule_rate, double gradient_norm);

  /// Updates done: counts applied steps only.
  int64_t updates() const { return updates_; }
  /// True if the parameter decays.
  bool decays(const Parameter& parameter) const;
  void visit_state(StateVisitor& v);

 private:
  const UpdateRuleOptions& options_;
  ParameterStore& store_;
  std::unique_ptr<UpdateRule> rule_;
  std::vector<double> decay_;
  int64_t updates_ = 0;
};

}  // namespace tapemeasure
