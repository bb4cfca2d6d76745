// SPDX-License-Identifier: MIT
// A causal language model: embeddings, blocks, final norm, vocabulary head.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "layers/block.h"
#include "layers/memory.h"
#include "layers/options.h"

namespace tapemeasure {

class Decoder {
 public:
  /// REQUIRES: options.vocabulary is set. Parameters as docs/checkpoints.md names them.
  Decoder(const ModelOptions& options, const Scope& scope);

  /// Hidden states before the head, [B, T, D]; tokens i32 [B, T]. With caches the tokens follow
  /// those already in them.
  Variable hidden(Run& run, const Tensor& tokens_BT, Caches* caches = nullptr) const;
  /// The same for tokens that follow the segments in a memory, which keeps what this one adds. The
  /// caller advances it once all its sequences are done.
  Variable hidden(Run& run, const Tensor& tokens_BT, const MemoryLanes& lanes) const;
  /// Losses of hidden states against targets i32 [B, T] (negative: not scored).
  CrossEntropy loss(Run& run, const Variable& hidden_BTD, const Tensor& targets_BT,
                    double factor) const;
  /// Logits [B, T, V]: for generation and small tests; training never makes them.
  Variable logits(Run& run, const Variable& hidden_BTD) const;
  /// Only the first `count` rows of the vocabulary are tokens: the loss leaves the others out.
  void limit_vocabulary(int64_t count) { classes_ = count; }

  /// Empty caches for `capacity` tokens. With a window a token sees only the last `window`, itself
  /// included, and the caches hold little more than those; tokens are then fed in pieces of at most
  /// `longest_piece`.
  Caches caches(Backend& backend, DType dtype, int64_t batch, int64_t capacity,
                int64_t window = 0) const;
  /// An empty memory; its length may differ from the one of training.
  Memory memory(Backend& backend, DType dtype, int64_t sequences, int64_t length) const;
  /// The longest sequence that positions allow, if there is one.
  std::optional<int64_t> longest() const;
  const ModelOptions& options() const { return options_; }

 private:
  Variable forward(Run& run, const Tensor& tokens_BT, Caches* caches,
                   const MemoryLanes& lanes) const;
  AttentionMask mask(const MemoryLanes& lanes, const Caches* caches) const;
  Variable head_weight(Run& run) const;
  Variable head_bias(Run& run) const;

  ModelOptions options_;
  int64_t classes_ = 0;  // 0: the whole vocabulary
  uint64_t embedding_site_;
  Parameter& embedding_;
  std::unique_ptr<PositionMethod> method_;
  std::unique_ptr<PositionMethod> absolute_;  // beside a relative method, or null
  std::optional<NormLayer> embedding_norm_, norm_;
  std::vector<Block> blocks_;
  Parameter* head_weight_ = nullptr;
  Parameter* head_bias_ = nullptr;
};

}  // namespace tapemeasure
