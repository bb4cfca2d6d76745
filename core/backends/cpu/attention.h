// SPDX-License-Identifier: MIT
// The fused attention of core/backend.h for CPUs, f32. Queries go in strips of 64 rows; a strip's
// logits stay in the caches, hidden keys are skipped, and a table of position terms costs one more
// small product per block, added along diagonals. Memory beyond the results is O(T). Sums run in an
// order fixed by the shapes, so neither timing nor the number of threads changes a bit.
#pragma once

#include "core/backend.h"

namespace tapemeasure::cpu {

/// Backend::attention; scratch comes from the pool of `memory`.
void attention(Backend& memory, const AttentionCall& call, const Tensor& out,
               const Tensor& log_sum_exp);

/// Backend::attention_grad.
void attention_grad(Backend& memory, const AttentionCall& call, const Tensor& out,
                    const Tensor& log_sum_exp, const Tensor& dout,
                    const AttentionGradients& gradients);

}  // namespace tapemeasure::cpu
