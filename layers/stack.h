// SPDX-License-Identifier: MIT
// A stack of blocks with its positions, from embedded tokens to hidden states: a language model's
// decoder, an encoder, or either side of an encoder-decoder.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "layers/block.h"
#include "layers/memory.h"
#include "layers/options.h"

namespace tapemeasure {

enum class StackKind {
  kDecoder,       ///< a token sees those before it and itself
  kEncoder,       ///< a token sees all
  kCrossDecoder,  ///< a decoder whose blocks read an encoder's output as well
};

/// What a stack reads besides the tokens.
struct StackSource {
  Tensor key_end = {};        ///< optional i32 [B]: tokens at or beyond it are padding
  Tensor prefix = {};         ///< optional i32 [B]: tokens before it are seen by all
  Tensor documents_BS = {};   ///< optional i32, of every position from 0 on
  Variable encoded_BSD = {};  ///< an encoder's output, for a kCrossDecoder
  Tensor encoded_end = {};    ///< optional i32 [B]: rows of it at or beyond are padding
  Caches* caches = nullptr;   ///< generation: what came before
  MemoryLanes lanes = {};     ///< segment memory
};

class Stack {
 public:
  /// Parameters "position.*", "embedding_norm.*", "blocks.*", "enhanced.*" and "norm.*" below
  /// `scope`.
  Stack(const ModelOptions& options, StackKind kind, const Scope& scope);

  Variable operator()(Run& run, const Variable& embedded_BTD, const StackSource& source) const;
  /// Which rotations a call over `length` positions takes (PositionMethod::version).
  int64_t version(int64_t length) const { return method_->version(length); }
  /// The longest sequence that positions allow, if there is one.
  std::optional<int64_t> longest() const;

 private:
  /// One layer; where the run says so, kept as its inputs alone.
  Variable block(Run& run, const Block& block, const Variable& x_BTD,
                 const BlockSource& source) const;
  AttentionMask mask(const StackSource& source) const;
  /// DeBERTa's enhanced mask decoder (He et al. 2021, section 3.2): the last block twice, on what
  /// it would have read with absolute positions added, which looks at that without them.
  Variable enhanced(Run& run, const Variable& x_BTD, BlockSource read) const;

  ModelOptions options_;
  StackKind kind_;
  uint64_t embedding_site_;
  std::unique_ptr<PositionMethod> method_;
  std::unique_ptr<PositionMethod> absolute_;  // beside a relative method, or null
  std::optional<NormLayer> embedding_norm_, norm_;
  std::vector<Block> blocks_;
  Parameter* enhanced_ = nullptr;  // positions [context, D] of an enhanced mask decoder, or null
};

}  // namespace tapemeasure
