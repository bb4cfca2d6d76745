// SPDX-License-Identifier: MIT
// Heads that look at scored rows only: a masked model scores about 15 % of its rows, and the head
// is the larger part of a small model's work.
#pragma once

#include <cstdint>

#include "core/ops.h"

namespace tapemeasure {

/// Some rows of a matrix, and their targets.
struct ScoredRows {
  Tensor ids_1M;     ///< i32
  Tensor targets_M;  ///< i32
};

/// How many targets are scored (not negative).
int64_t count_scored(const Tensor& targets);
/// The rows with scored targets. REQUIRES: there are some.
ScoredRows scored_rows(const Tensor& targets);
/// Losses [M] of some rows added to those of all rows, [N].
void add_losses(const Tensor& ids_1M, const Tensor& losses_M, const Into& losses_N);

/// head(hidden, targets) over the scored rows alone where they are fewer than half, over all rows
/// otherwise. The sums are the same to the bit where products are summed in order of rows.
template <class Head>
CrossEntropy over_scored_rows(Run& run, const Variable& hidden, const Tensor& targets,
                              const Head& head) {
  const int64_t rows = targets.count(), scored = count_scored(targets);
  if (scored == 0 || 2 * scored >= rows) return head(hidden, targets);
  const ScoredRows few = scored_rows(targets);
  const Variable all = hidden.reshaped({rows, hidden.shape()[-1]});
  CrossEntropy result = head(embedding(run, all, few.ids_1M), few.targets_M);
  const Tensor losses = empty(hidden.value().backend(), {rows}, result.losses.dtype());
  add_losses(few.ids_1M, result.losses, {losses, Write::kSet});
  result.losses = losses;
  return result;
}

}  // namespace tapemeasure
