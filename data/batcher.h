// SPDX-License-Identifier: MIT
// Windows of a text as batches.
//
// Shuffled windows: sequence p = step * B + s of the whole run lies in epoch e = p / W with
// W = max(1, (N - T) / T) windows of T tokens and their targets. Epoch e starts at an offset drawn
// from (seed, e) below min(T, N - W T), and visits its windows in a keyed permutation; a batch may
// straddle epochs.
// Lanes: B contiguous lanes of equal length, read side by side, one window of T further at each
// step; behind its last whole window every lane starts again, and `restarts` says so.
#pragma once

#include <cstdint>

#include "data/batch.h"
#include "data/token_file.h"

namespace tapemeasure {

enum class DataOrder { kShuffled, kLanes };

class Batcher : public BatchSource {
 public:
  struct Options {
    DataOrder order = DataOrder::kShuffled;
    int64_t sequences = 1;  ///< B, the global batch
    int64_t context = 1;    ///< T
    uint64_t seed = 1;
    bool second_half = false;  ///< only targets that have half of the window before them count
  };
  /// Throws DataError, saying what there is and what is needed, when the split has fewer than T + 1
  /// tokens (lanes: per lane). `origin` names the text.
  Batcher(TokenSpan tokens, const Options& options, const std::string& origin);

  void at(int64_t step, Backend& backend, Batch& batch) const override;
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
