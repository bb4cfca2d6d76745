// SPDX-License-Identifier: MIT
// How parameters start (`model.initialisation`). Biases and T5's table start at 0, norm gains at 1.
//   scaled: linears U(-1/sqrt(in), 1/sqrt(in)); tables of embeddings and positions
//           N(0, (0.45 / sqrt(width))^2).
//   gpt2:   all weights and tables N(0, 0.02^2); the linears that write into the residual stream
//           N(0, 0.02^2 / (2 layers)) (Radford et al. 2019, section 2.3).
//   t5:     linears N(0, 1/in), the query's N(0, 1/(in d)) where no 1/sqrt(d) scales the logits
//           (Raffel et al. 2020, as released); tables as `scaled`.
//   transformer_xl: all weights and tables N(0, 0.02^2), norm gains N(1, 0.02^2) (Dai et al. 2019,
//           as released).
#pragma once

#include "core/parameter.h"
#include "layers/options.h"

namespace tapemeasure {

enum class LinearUse { kInner, kQuery, kResidual };

/// The start of a linear's weight that reads `in` channels.
Init linear_init(const ModelOptions& model, int64_t in, LinearUse use = LinearUse::kInner);
/// The start of a norm's gain.
Init gain_init(const ModelOptions& model);
/// The start of vectors by position: N(0, scaled^2) under `scaled` and `t5`.
Init table_init(const ModelOptions& model, double scaled);

}  // namespace tapemeasure
