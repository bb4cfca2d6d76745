// SPDX-License-Identifier: MIT
#include "optim/optimizer.h"

#include <algorithm>
#include <cmath>

namespace tapemeasure {

Optimizer::Optimizer(const UpdateRuleOptions& options, ParameterStore& store)
    : options_(options), store_(store), rule_(options.build(store)) {
  for (const Parameter& parameter : store.all()) {
    decay_.push_back(decays(parameter) ? options.weight_decay : 0);
  }
}

bool Optimizer::decays(const Parameter& parameter) const {
  switch (options_.decay) {
    case DecayGroup::kAll:
      return true;
    case DecayGroup::kMatrices:
      return parameter.shape.axes() >= 2;
    case DecayGroup::kLinear:
      return parameter.role == Role::kLinear;
    case DecayGroup::kNone:
      return false;
  }
  return false;
}

double Optimizer::gradient_norm() const {
  return std::sqrt(store_.gradients().backend().sum_of_squares(store_.gradients()));
}

std::string Optimizer::first_nonfinite() const {
  for (const Parameter& parameter : store_.all()) {
    const double squares = parameter.gradient.backend().sum_of_squares(parameter.gradient);
    if (!std::isfinite(squares)) return parameter.name;
  }
  return "";
}

double Optimizer::step(double schedule_rate, double gradient_norm) {
  ++updates_;
  Update update{.rate = schedule_rate, .gradient_scale = 1, .count = updates_};
  if (options_.clip_norm > 0) {
    update.gradient_scale = std::min(1.0, options_.clip_norm / (gradient_norm + 1e-6));
  }
  rule_->apply(update, store_, decay_);
  return rule_->rate(update);
}

void Optimizer::visit_state(StateVisitor& v) {
  v.integer("optimizer/updates", updates_);
  rule_->visit_state(v, store_);
}

}  // namespace tapemeasure
