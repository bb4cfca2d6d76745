// SPDX-License-Identifier: MIT
// The keys and values that one attention layer has seen, for generation. Keys are kept before any
// relative term (and after rotation, for rotary methods), so that they never go stale.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace tapemeasure {

struct KeyValueCache {
  Tensor keys_BSC, values_BSC;  ///< [sequences, capacity, heads * head width]
  int64_t length = 0;           ///< rows in use
};

/// What generation carries from call to call: a cache per layer and the position of the next token.
struct Caches {
  std::vector<KeyValueCache> layers;
  int64_t position = 0;
};

}  // namespace tapemeasure
