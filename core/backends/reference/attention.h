// SPDX-License-Identifier: MIT
// The attention of core/backend.h in plain loops.
#pragma once

#include "core/backend.h"

namespace tapemeasure::reference {

void attention(const AttentionCall& call, const Tensor& out, const Tensor& log_sum_exp);
void attention_grad(const AttentionCall& call, const Tensor& out, const Tensor& log_sum_exp,
                    const Tensor& dout, const AttentionGradients& gradients);

}  // namespace tapemeasure::reference
