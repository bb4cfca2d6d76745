// SPDX-License-Identifier: MIT
// How the weights of linear layers start (`model.initialisation`).
//   scaled: U(-1/sqrt(in), 1/sqrt(in)).
//   gpt2:   N(0, 0.02^2); the linears that write into the residual stream N(0, 0.02^2 / (2 layers))
//           (Radford et al. 2019, section 2.3).
#pragma once

#include "core/parameter.h"
#include "layers/options.h"

namespace tapemeasure {

/// The start of a linear's weight that reads `in` channels.
Init linear_init(const ModelOptions& model, int64_t in, bool writes_residual = false);

}  // namespace tapemeasure
