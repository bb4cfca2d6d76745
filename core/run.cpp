// SPDX-License-Identifier: MIT
#include "core/run.h"

#include <algorithm>

namespace tapemeasure {

Run Run::on(Tape& other) const {
  Run run(other, training);
  run.seed = seed;
  run.step = step;
  run.first_sequence = first_sequence;
  run.attention_probe = attention_probe;
  run.uses_ = uses_;
  return run;
}

void Run::begin(int64_t at_step, int64_t at_sequence) {
  step = at_step;
  first_sequence = at_sequence;
  uses_.clear();
}

Dropout Run::dropout(double rate, uint64_t site) {
  if (!training || rate <= 0) return {};
  auto it = std::find_if(uses_.begin(), uses_.end(), [&](auto& use) { return use.first == site; });
  if (it == uses_.end()) it = uses_.insert(it, {site, 0});
  const uint64_t use = it->second++;
  const uint64_t key = random_key(seed, Stream::kDropout, static_cast<uint64_t>(step), site + use);
  return {rate, key, first_sequence};
}

}  // namespace tapemeasure
