// SPDX-License-Identifier: MIT
// LayerNorm (Ba et al. 2016): (x - mean) / sqrt(var + e) * weight + bias, or RMSNorm (Zhang &
// Sennrich 2019): x / sqrt(mean(x^2) + e) * weight; over the last axis.
#pragma once

#include "core/ops.h"
#include "core/parameter.h"
#include "layers/options.h"

namespace tapemeasure {

class NormLayer {
 public:
  /// Parameters scope.weight [width], 1 at the start, and for LayerNorm scope.bias [width], 0.
  NormLayer(const ModelOptions& model, const Scope& scope);
  Variable operator()(Run& run, const Variable& x) const;

 private:
  Norm kind_;
  double epsilon_;
  Parameter& weight_;
  Parameter* bias_ = nullptr;
};

}  // namespace tapemeasure
