// SPDX-License-Identifier: MIT
// Attention with all position terms as plain loops over the formula of AttentionTermsOf
// (core/backend.h), f32 or f64, summed in double: the definition of correct for other backends.
#pragma once

#include "core/backend.h"

namespace tapemeasure::reference {

/// Backend::attention.
void attention(const AttentionCall& call, const Tensor& out, const Tensor& log_sum_exp);

/// Backend::attention_grad. Recomputes from the call alone; `out` and `log_sum_exp` are not read.
void attention_grad(const AttentionCall& call, const Tensor& out, const Tensor& log_sum_exp,
                    const Tensor& dout, const AttentionGradients& gradients);

}  // namespace tapemeasure::reference
