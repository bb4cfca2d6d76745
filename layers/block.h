// SPDX-License-Identifier: MIT
// One Transformer block: attention, in an encoder-decoder's decoder attention across to the
// encoder's output, and feed-forward, each a residual branch with a norm before it (pre:
// x + f(norm(x))) or after it (post: norm(x + f(x)), Vaswani et al. 2017, section 3.1).
#pragma once

#include <optional>

#include "layers/attention.h"
#include "layers/feed_forward.h"
#include "layers/norm.h"

namespace tapemeasure {

/// What a block's attentions read besides the block's input.
struct BlockSource {
  /// Where keys and values come from instead of the block's input: as many rows, at the same
  /// positions. Not beside a memory.
  Variable rows_BSD = {};
  Tensor memory_BMD = {};  ///< earlier inputs of this block, or undefined
  KeyValueCache* cache = nullptr;
  Variable encoded_BSD = {};  ///< an encoder's output, for a block that reads across
  Tensor encoded_end = {};    ///< optional i32 [B]: rows of it at or beyond are padding
  KeyValueCache* cross_cache = nullptr;
  AttentionMask mask = {};
};

class Block {
 public:
  /// `crosses`: reads an encoder's output as well.
  Block(const ModelOptions& model, const PositionMethod& method, bool crosses, const Scope& scope);
  Variable operator()(Run& run, const Variable& x_BTD, const BlockSource& source) const;

 private:
  /// The attention of x, already normed where norms come first.
  Variable mix(Run& run, const Variable& x_BTD, const BlockSource& source) const;
  Variable mix_across(Run& run, const Variable& x_BTD, const BlockSource& source) const;
  /// x with a branch: f of x, or of its norm.
  template <class F>
  Variable branch(Run& run, const Variable& x_BTD, const NormLayer& norm, uint64_t site, F f) const;

  NormPosition norm_position_;
  double dropout_;
  uint64_t attention_site_, cross_site_, feedforward_site_;
  AttentionLayer attention_;
  NormLayer attention_norm_;
  std::optional<AttentionLayer> cross_;
  std::optional<NormLayer> cross_norm_;
  FeedForward feedforward_;
  NormLayer feedforward_norm_;
};

}  // namespace tapemeasure
