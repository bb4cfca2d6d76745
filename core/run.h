// SPDX-License-Identifier: MIT
// What one forward pass needs beyond its inputs, passed down by reference instead of being global.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/backend.h"
#include "core/random.h"
#include "core/tape.h"

namespace tapemeasure {

class Run {
 public:
  explicit Run(Tape& tape, bool training = false) : tape(tape), training(training) {}

  Tape& tape;
  bool training;
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t first_sequence = 0;  ///< index of this batch's first sequence in the global batch
  /// Sees what each attention reads, before it is computed: for pictures of a model.
  std::function<void(const AttentionCall&)> attention_probe = {};

  /// Blocks keep their inputs alone and compute what they need once more in the backward pass.
  bool recompute = false;

  /// The same pass, as far as it has come, on another tape.
  Run on(Tape& other) const;
  /// Goes on where `other` has come to.
  void follow(const Run& other) { uses_ = other.uses_; }
  /// Begins another pass: forgets which sites were used. Keeps its memory.
  void begin(int64_t at_step, int64_t at_sequence);
  /// The dropout of one use of a site in this pass: keyed by (seed, step, site, use). Inactive when
  /// not training. `site` is hash_text of the layer's path.
  Dropout dropout(double rate, uint64_t site);

 private:
  std::vector<std::pair<uint64_t, uint64_t>> uses_;  // site, how often
};

}  // namespace tapemeasure
