// SPDX-License-Identifier: MIT
// The windows of a text that masked, prefix and span-corrupting objectives work on, each with a key
// for what is drawn in it; and drawing without replacement.
#pragma once

#include <optional>

#include "core/random.h"
#include "data/objective/objective.h"

namespace tapemeasure {

/// Walks over `items` things of which `chosen` are to be drawn, uniformly among all such subsets,
/// in O(1) memory (selection sampling: Knuth, TAOCP 2, 3.4.2, algorithm S).
class Selection {
 public:
  Selection(uint64_t key, int64_t items, int64_t chosen)
      : key_(key), items_(items), left_(chosen) {}
  /// Whether the next thing is drawn.
  bool next() {
    const auto rest = static_cast<uint64_t>(items_ - seen_);
    const bool drawn =
        random_below(key_, static_cast<uint64_t>(seen_), rest) < static_cast<uint64_t>(left_);
    ++seen_;
    left_ -= drawn;
    return drawn;
  }

 private:
  uint64_t key_;
  int64_t items_, left_, seen_ = 0;
};

/// Keys of an objective that draws something in each window: evaluations draw by their own seed, so
/// that all runs are measured on the same.
class WindowOptions : public ObjectiveOptions {
 public:
  void visit(Fields& f) override;

 protected:
  int64_t evaluation_seed_ = 1;
};

/// Windows of `length` tokens (and `extra` behind them).
class Windows {
 public:
  struct Options {
    int64_t length = 1, extra = 0, sequences = 1;
    uint64_t seed = 1;
    const char* site = "";  ///< tells objectives' draws apart
  };
  /// As Batcher visits them: in a new order each epoch. `extra` is at most 1.
  static Windows training(const Part& part, const Options& options);
  /// Side by side from the first token on; what is left at the end is no window:
  /// a short part has none.
  static Windows evaluation(const Part& part, const Options& options);

  int64_t batches() const;
  int64_t sequences(int64_t step) const;
  double epoch(int64_t step) const;
  int64_t first(int64_t step, int64_t sequence) const;
  uint64_t key(int64_t step, int64_t sequence) const;
  const TokenSpan& tokens() const { return tokens_; }

 private:
  Windows(const Part& part, const Options& options)
      : tokens_(part.tokens), options_(options), site_(hash_text(options.site)) {}

  TokenSpan tokens_;
  Options options_;
  uint64_t site_;
  std::optional<Batcher> shuffled_;
  int64_t count_ = 0;
};

}  // namespace tapemeasure
