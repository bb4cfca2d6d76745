// SPDX-License-Identifier: MIT
#include "layers/linear.h"

namespace tapemeasure {

Linear::Linear(const LinearShape& shape, Init init, const Scope& scope)
    : weight_(scope.parameter("weight", {shape.out, shape.in}, init, Role::kLinear)) {
  if (shape.bias) bias_ = &scope.parameter("bias", {shape.out}, Init::zeros(), Role::kBias);
}

Variable Linear::operator()(Run& run, const Variable& x) const {
  return linear(run, x, run.tape.leaf(weight_), bias_ ? run.tape.leaf(*bias_) : Variable());
}

}  // namespace tapemeasure
