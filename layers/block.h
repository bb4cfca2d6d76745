// SPDX-License-Identifier: MIT
// One Transformer block: attention and feed-forward, each a residual branch with a norm before it
// (pre: x + f(norm(x))) or after it (post: norm(x + f(x)), Vaswani et al. 2017, section 3.1).
#pragma once

#include "layers/attention.h"
#include "layers/feed_forward.h"
#include "layers/norm.h"

namespace tapemeasure {

/// What a block's attention reads besides the block's input.
struct BlockSource {
  Tensor memory_BMD = {};  ///< earlier inputs of this block, or undefined
  KeyValueCache* cache = nullptr;
  AttentionMask mask = {};
};

class Block {
 public:
  Block(const ModelOptions& model, const PositionMethod& method, const Scope& scope);
  Variable operator()(Run& run, const Variable& x_BTD, const BlockSource& source) const;

 private:
  /// The attention of x, already normed where norms come first.
  Variable mix(Run& run, const Variable& x_BTD, const BlockSource& source) const;

  NormPosition norm_position_;
  double dropout_;
  uint64_t attention_site_, feedforward_site_;
  AttentionLayer attention_;
  NormLayer attention_norm_;
  FeedForward feedforward_;
  NormLayer feedforward_norm_;
};

}  // namespace tapemeasure
