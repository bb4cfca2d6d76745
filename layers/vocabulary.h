// SPDX-License-Identifier: MIT
// The two ends of a model at its vocabulary: token ids to vectors, and hidden states to losses.
// They are one thing because they may share weights (Press & Wolf 2017).
#pragma once

#include <memory>

#include "core/ops.h"
#include "layers/options.h"

namespace tapemeasure {

/// How a batch's losses are weighted.
struct LossOptions {
  double factor = 1;     ///< usually 1 / scored targets of the global batch
  double smoothing = 0;  ///< label smoothing
};

class Vocabulary {
 public:
  virtual ~Vocabulary() = default;
  /// Embeddings [B, T, D], scaled, of tokens i32 [B, T].
  virtual Variable embed(Run& run, const Tensor& tokens_BT) const = 0;
  /// Losses of hidden states against targets i32 with one element per row (negative: not scored).
  virtual CrossEntropy loss(Run& run, const Variable& hidden_BTD, const Tensor& targets_BT,
                            const LossOptions& options) const = 0;
  /// Logits [B, T, V], or log-probabilities: for generation and small tests; training never makes
  /// them.
  virtual Variable logits(Run& run, const Variable& hidden_BTD) const = 0;
  /// Only the first `count` rows of the vocabulary are tokens: the loss leaves the others out.
  virtual void limit(int64_t count) = 0;
};

/// What the options ask for. Parameters "embedding.*" and "head.*" below `scope`.
std::unique_ptr<Vocabulary> make_vocabulary(const ModelOptions& options, const Scope& scope);

}  // namespace tapemeasure
