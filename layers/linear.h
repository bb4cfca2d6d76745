// SPDX-License-Identifier: MIT
// y = x W^T + b, with W [out, in].
#pragma once

#include "core/ops.h"
#include "core/parameter.h"

namespace tapemeasure {

struct LinearShape {
  int64_t in = 0, out = 0;
  bool bias = true;
};

class Linear {
 public:
  /// Parameters scope.weight [out, in] and, with a bias, scope.bias [out], which starts at 0.
  Linear(const LinearShape& shape, Init init, const Scope& scope);
  /// x [..., in] -> [..., out].
  Variable operator()(Run& run, const Variable& x) const;

 private:
  Parameter& weight_;
  Parameter* bias_ = nullptr;
};

}  // namespace tapemeasure
