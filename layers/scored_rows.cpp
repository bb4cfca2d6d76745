// SPDX-License-Identifier: MIT
#include "layers/scored_rows.h"

#include <algorithm>
#include <vector>

#include "core/host.h"

namespace tapemeasure {

int64_t count_scored(const Tensor& targets) {
  const int32_t* target = targets.data<int32_t>();
  return std::count_if(target, target + targets.count(), [](int32_t id) { return id >= 0; });
}

ScoredRows scored_rows(const Tensor& targets) {
  const int32_t* target = targets.data<int32_t>();
  std::vector<int32_t> ids, kept;
  for (int64_t row = 0; row < targets.count(); ++row) {
    if (target[row] < 0) continue;
    ids.push_back(static_cast<int32_t>(row));
    kept.push_back(target[row]);
  }
  const auto count = static_cast<int64_t>(ids.size());
  return {to_tensor(targets.backend(), {1, count}, ids),
          to_tensor(targets.backend(), {count}, kept)};
}

void add_losses(const Tensor& ids_1M, const Tensor& losses_M, const Into& losses_N) {
  const Into column{losses_N.tensor.reshaped({losses_N.tensor.count(), 1}), losses_N.write};
  losses_M.backend().embed_grad(ids_1M, losses_M.reshaped({losses_M.count(), 1}), 1, column);
}

}  // namespace tapemeasure
