// SPDX-License-Identifier: MIT
// The keys and values that one attention layer has seen, for generation. Keys are kept before any
// relative term (and after rotation, for rotary methods), so that they never go stale while a
// method's rotation stays the same.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace tapemeasure {

/// Tables of a layer's position terms that are work to make: made once, since generation changes no
/// weight. Undefined until then.
struct KeptTables {
  Tensor query_table, key_table, bias = {};
  int64_t first = 0;  ///< the distance of the query table's row 0, where rows are distances
};

struct KeyValueCache {
  Tensor keys_BSC, values_BSC;  ///< [sequences, capacity, heads * head width]
  int64_t length = 0;           ///< rows in use
  int64_t first = 0;            ///< position of row 0: tokens before it are forgotten
  KeptTables tables = {};
};

/// What generation carries from call to call: a cache per layer, the tokens fed so far, the
/// position of the next one, and the rotation that the cached keys have.
struct Caches {
  std::vector<KeyValueCache> layers;
  std::vector<KeyValueCache>
      cross;  ///< keys and values of an encoder's output, kept from call to call
  Tensor encoded_BSD, encoded_end;  ///< that output, and where it ends; undefined: not yet there
  std::vector<std::vector<int32_t>> tokens;  ///< of each sequence
  int64_t position = 0;
  int64_t version = 0;
  int64_t window = 0;         ///< a token sees only the last so many, itself included; 0: all
  int64_t longest_piece = 0;  ///< most tokens that one call may add; 0: whatever there is room for
};

}  // namespace tapemeasure
