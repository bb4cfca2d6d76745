// SPDX-License-Identifier: MIT
// The attention of core/backend.h for CPUs; scratch comes from the pool of `backend`.
#pragma once

#include "core/backend.h"

namespace tapemeasure::cpu {

void attention(Backend& backend, const AttentionCall& call, const Tensor& out,
               const Tensor& log_sum_exp);
void attention_grad(Backend& backend, const AttentionCall& call, const Tensor& out,
                    const Tensor& log_sum_exp, const Tensor& dout,
                    const AttentionGradients& gradients);

}  // namespace tapemeasure::cpu
