// SPDX-License-Identifier: MIT
#include "layers/scored_rows.h"

#include <algorithm>

#include "core/backend.h"

namespace tapemeasure {

int64_t count_scored(const Tensor& targets) {
  const int32_t* target = targets.data<int32_t>();
  return std::count_if(target, target + targets.count(), [](int32_t id) { return id >= 0; });
}

ScoredRows scored_rows(const Tensor& targets) {
  const int32_t* target = targets.data<int32_t>();
  const int64_t count = count_scored(targets);
  const ScoredRows rows{empty(targets.backend(), {1, count}, DType::kI32),
                        empty(targets.backend(), {count}, DType::kI32)};
  int32_t* id = rows.ids_1M.data<int32_t>();
  int32_t* kept = rows.targets_M.data<int32_t>();
  for (int64_t row = 0; row < targets.count(); ++row) {
    if (target[row] < 0) continue;
    *id++ = static_cast<int32_t>(row);
    *kept++ = target[row];
  }
  return rows;
}

void add_losses(const Tensor& ids_1M, const Tensor& losses_M, const Into& losses_N) {
  const Into column{losses_N.tensor.reshaped({losses_N.tensor.count(), 1}), losses_N.write};
  losses_M.backend().embed_grad(ids_1M, losses_M.reshaped({losses_M.count(), 1}), 1, column);
}

}  // namespace tapemeasure
