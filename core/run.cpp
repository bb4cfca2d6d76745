// SPDX-License-Identifier: MIT
#include "core/run.h"

namespace tapemeasure {

Dropout Run::dropout(double rate, uint64_t site) {
  if (!training || rate <= 0) return {};
  const uint64_t use = uses_[site]++;
  const uint64_t key = random_key(seed, Stream::kDropout, static_cast<uint64_t>(step), site + use);
  return {rate, key, first_sequence};
}

}  // namespace tapemeasure
