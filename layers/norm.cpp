// SPDX-License-Identifier: MIT
#include "layers/norm.h"

#include "layers/initialisation.h"

namespace tapemeasure {

NormLayer::NormLayer(const ModelOptions& model, const Scope& scope)
    : kind_(model.norm),
      epsilon_(model.norm_epsilon),
      weight_(scope.parameter("weight", {model.width}, gain_init(model), Role::kNorm)) {
  if (kind_ == Norm::kLayerNorm) {
    bias_ = &scope.parameter("bias", {model.width}, Init::zeros(), Role::kNorm);
  }
}

Variable NormLayer::operator()(Run& run, const Variable& x) const {
  return normalize(run, kind_, epsilon_, x, run.tape.leaf(weight_),
                   bias_ ? run.tape.leaf(*bias_) : Variable());
}

}  // namespace tapemeasure
