// SPDX-License-Identifier: MIT
// Batches as a pure function of (tokens, seed, step): no cursor, so seeking is O(1) and resuming is
// `at(step)`.
//
// Shuffled windows: sequence p = step * B + s of the whole run lies in epoch e = p / W with
// W = max(1, (N - T) / T) windows of T tokens and their targets. Epoch e starts at an offset drawn
// from (seed, e) below min(T, N - W T), and visits its windows in a keyed permutation; a batch may
// straddle epochs.
// Lanes: B contiguous lanes of equal length, read side by side, one window of T further at each
// step; behind its last whole window every lane starts again, and `restarts` says so.
#pragma once

#include <cstdint>

#include "core/tensor.h"
#include "data/token_file.h"

namespace tapemeasure {

enum class DataOrder { kShuffled, kLanes };

/// One global batch. A value: nothing of it is shared with later batches unless it is reused.
struct Batch {
  Tensor tokens_BT, targets_BT;  ///< i32; target -1: not scored
  int64_t scored = 0;            ///< targets >= 0
  double epoch = 0;              ///< epochs begun, as a number with fractions, at the batch's start
  bool restarts = false;         ///< lanes: memory is empty at this batch's start
};

class Batcher {
 public:
  struct Options {
    DataOrder order = DataOrder::kShuffled;
    int64_t sequences = 1;  ///< B, the global batch
    int64_t context = 1;    ///< T
    uint64_t seed = 1;
  };
  /// Throws DataError, saying what there is and what is needed, when the split has fewer than T + 1
  /// tokens (lanes: per lane). `origin` names the text.
  Batcher(TokenSpan tokens, const Options& options, const std::string& origin);

  /// Fills `batch` with the batch of `step`; its tensors are made if they are not there yet.
  void at(int64_t step, Backend& backend, Batch& batch) const;
  /// First token of sequence s of that step.
  int64_t window_start(int64_t step, int64_t sequence) const;
  /// Windows of one epoch (of one lane).
  int64_t windows() const { return windows_; }

 private:
  TokenSpan tokens_;
  Options options_;
  int64_t windows_ = 0, lane_ = 0;
};

}  // namespace tapemeasure
