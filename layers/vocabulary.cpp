// SPDX-License-Identifier: MIT
#include "layers/vocabulary.h"

#include <optional>

#include "layers/adaptive_vocabulary.h"
#include "layers/initialisation.h"
#include "layers/linear.h"
#include "layers/norm.h"
#include "layers/scored_rows.h"

namespace tapemeasure {

namespace {

/// One table for all tokens and one head over all of them, which may be the same weight.
class PlainVocabulary : public Vocabulary {
 public:
  PlainVocabulary(const ModelOptions& options, const Scope& scope)
      : options_(options),
        embedding_((scope / "embedding")
                       .parameter("weight", {options.vocabulary.value(), options.width},
                                  Init::normal(options.embedding_deviation()), Role::kEmbedding)) {
    const Scope head = scope / "head";
    if (options.head_transform) {
      transform_.emplace(LinearShape{options.width, options.width},
                         linear_init(options, options.width), head / "transform");
      norm_.emplace(options, head / "norm");
    }
    if (!options.tied_head) {
      weight_ = &head.parameter("weight", {*options.vocabulary, options.width},
                                linear_init(options, options.width), Role::kLinear);
    }
    if (options.head_bias) {
      bias_ = &head.parameter("bias", {*options.vocabulary}, Init::zeros(), Role::kBias);
    }
  }

  Variable embed(Run& run, const Tensor& tokens_BT) const override {
    return embedding(run, run.tape.leaf(embedding_), tokens_BT, options_.embedding_scale);
  }

  CrossEntropy loss(Run& run, const Variable& hidden_BTD, const Tensor& targets_BT,
                    const LossOptions& options) const override {
    return over_scored_rows(
        run, hidden_BTD, targets_BT, [&](const Variable& hidden, const Tensor& targets) {
          return cross_entropy(run, transformed(run, hidden), weight(run), bias(run), targets,
                               {.factor = options.factor,
                                .head_scale = options_.head_scale,
                                .smoothing = options.smoothing,
                                .classes = classes_});
        });
  }

  Variable logits(Run& run, const Variable& hidden_BTD) const override {
    const Variable h = transformed(run, hidden_BTD);
    const Variable scaled = options_.head_scale == 1 ? h : scale(run, h, options_.head_scale);
    return linear(run, scaled, weight(run), bias(run));
  }

  void limit(int64_t count) override { classes_ = count; }

 private:
  Variable transformed(Run& run, const Variable& hidden_BTD) const {
    if (!transform_) return hidden_BTD;
    return (*norm_)(run, activation(run, options_.activation, (*transform_)(run, hidden_BTD)));
  }
  Variable weight(Run& run) const { return run.tape.leaf(weight_ ? *weight_ : embedding_); }
  Variable bias(Run& run) const { return bias_ ? run.tape.leaf(*bias_) : Variable(); }

  ModelOptions options_;
  int64_t classes_ = 0;  // 0: the whole vocabulary
  Parameter& embedding_;
  std::optional<Linear> transform_;
  std::optional<NormLayer> norm_;
  Parameter* weight_ = nullptr;
  Parameter* bias_ = nullptr;
};

}  // namespace

std::unique_ptr<Vocabulary> make_vocabulary(const ModelOptions& options, const Scope& scope) {
  if (options.adaptive_softmax.active()) return make_adaptive_vocabulary(options, scope);
  return std::make_unique<PlainVocabulary>(options, scope);
}

}  // namespace tapemeasure
