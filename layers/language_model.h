// SPDX-License-Identifier: MIT
// The models: a decoder (causal language model), an encoder, an encoder-decoder. Each is a
// vocabulary and one or two stacks of the same blocks.
#pragma once

#include <memory>
#include <optional>

#include "layers/documents.h"
#include "layers/stack.h"
#include "layers/vocabulary.h"

namespace tapemeasure {

/// What one pass reads. Padding comes last in a sequence.
struct ModelInput {
  Tensor tokens_BT;       ///< i32; an encoder-decoder's are those that its decoder reads
  Tensor lengths_B = {};  ///< optional i32, encoders: tokens at or beyond are padding
  /// Optional i32, decoders: the first so many tokens of a sequence see each other both ways, as
  /// positions do then everywhere (prefix language modelling). With caches: in every call, and
  /// without a window. Not with a memory.
  Tensor prefix_B = {};
  Tensor source_BS = {};         ///< i32, what an encoder-decoder's encoder reads
  Tensor source_lengths_B = {};  ///< optional i32
  /// Generation: the tokens follow those already in the caches, which also keep what the encoder
  /// made of the source: it is needed in the first call only, if the caches lack that.
  Caches* caches = nullptr;
  /// The tokens follow the segments in a memory, which keeps what this one adds. The caller
  /// advances it once all its sequences are done.
  MemoryLanes lanes = {};
};

class LanguageModel {
 public:
  /// REQUIRES: options.vocabulary is set. Parameters as docs/checkpoints.md names them.
  LanguageModel(const ModelOptions& options, const Scope& scope);

  /// Hidden states before the head, [B, T, D].
  Variable hidden(Run& run, const ModelInput& input) const;
  /// What the encoder of an encoder-decoder makes of a source, [B, S, D].
  Variable encoded(Run& run, const Tensor& source_BS, const Tensor& source_lengths_B) const;
  /// Losses of hidden states against targets i32 [B, T] (negative: not scored).
  CrossEntropy loss(Run& run, const Variable& hidden_BTD, const Tensor& targets_BT,
                    const LossOptions& options) const {
    return vocabulary_->loss(run, hidden_BTD, targets_BT, options);
  }
  /// Logits [B, T, V]: for generation and small tests; training never makes them.
  Variable logits(Run& run, const Variable& hidden_BTD) const {
    return vocabulary_->logits(run, hidden_BTD);
  }
  /// Only the first `count` rows of the vocabulary are tokens: the loss leaves the others out.
  void limit_vocabulary(int64_t count) { vocabulary_->limit(count); }
  /// No token sees one of another document; memory cannot be used then.
  void separate_documents(std::vector<int32_t> end) { ends_ = DocumentEnds(std::move(end)); }

  /// Empty caches for `capacity` tokens. With a window a token sees only the last `window`, itself
  /// included, and the caches hold little more than those; tokens are then fed in pieces of at most
  /// `longest_piece`. REQUIRES: not an encoder.
  Caches caches(Backend& backend, DType dtype, int64_t batch, int64_t capacity,
                int64_t window = 0) const;
  /// An empty memory; its length may differ from the one of training. REQUIRES: a decoder.
  Memory memory(Backend& backend, DType dtype, int64_t sequences, int64_t length) const;
  /// The longest sequence that positions allow, if there is one.
  std::optional<int64_t> longest() const { return stack_->longest(); }
  const ModelOptions& options() const { return options_; }

 private:
  Variable cached(Run& run, const ModelInput& input) const;
  Variable forward(Run& run, const ModelInput& input) const;
  Tensor documents(const ModelInput& input) const;

  ModelOptions options_;
  std::unique_ptr<Vocabulary> vocabulary_;
  DocumentEnds ends_;
  std::optional<Stack> encoder_;  // of an encoder-decoder
  std::optional<Stack> stack_;    // the one whose hidden states meet the head
};

}  // namespace tapemeasure
