// SPDX-License-Identifier: MIT
// The feed-forward branch of a block: down(act(up x)), or down(act(gate x) * (up x)) when gated
// (Shazeer 2020, "GLU variants improve Transformer", equation 6).
#pragma once

#include <optional>

#include "layers/linear.h"
#include "layers/options.h"

namespace tapemeasure {

class FeedForward {
 public:
  FeedForward(const ModelOptions& model, const Scope& scope);
  Variable operator()(Run& run, const Variable& x_BTD) const;

 private:
  Activation activation_;
  std::optional<Linear> gate_;
  Linear up_, down_;
};

}  // namespace tapemeasure
