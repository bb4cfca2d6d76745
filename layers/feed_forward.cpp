// SPDX-License-Identifier: MIT
#include "layers/feed_forward.h"

#include "layers/initialisation.h"

namespace tapemeasure {

namespace {
LinearShape inner(const ModelOptions& model, const char* name) {
  return {model.width, model.the_feedforward(), model.has_bias(name)};
}
}  // namespace

FeedForward::FeedForward(const ModelOptions& model, const Scope& scope)
    : activation_(model.activation),
      up_(inner(model, "up"), linear_init(model, model.width), scope / "up"),
      down_({model.the_feedforward(), model.width, model.has_bias("down")},
            linear_init(model, model.the_feedforward(), LinearUse::kResidual), scope / "down") {
  if (model.gated) {
    gate_.emplace(inner(model, "gate"), linear_init(model, model.width), scope / "gate");
  }
}

Variable FeedForward::operator()(Run& run, const Variable& x_BTD) const {
  if (!gate_) return down_(run, activation(run, activation_, up_(run, x_BTD)));
  return down_(run, gated(run, activation_, (*gate_)(run, x_BTD), up_(run, x_BTD)));
}

}  // namespace tapemeasure
