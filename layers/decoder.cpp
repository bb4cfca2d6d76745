// SPDX-License-Identifier: MIT
#include "layers/decoder.h"

#include "layers/initialisation.h"

namespace tapemeasure {

Decoder::Decoder(const ModelOptions& options, const Scope& scope)
    : options_(options),
      embedding_site_(hash_text((scope / "embedding").path())),
      embedding_((scope / "embedding")
                     .parameter("weight", {options.vocabulary.value(), options.width},
                                Init::normal(options.embedding_deviation()), Role::kEmbedding)),
      method_(options.position.options->build(options, scope / "position")) {
  if (options.embedding_norm) embedding_norm_.emplace(options, scope / "embedding_norm");
  blocks_.reserve(static_cast<size_t>(options.layers));
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    blocks_.emplace_back(options, *method_, scope / "blocks" / layer);
  }
  if (options.has_final_norm()) norm_.emplace(options, scope / "norm");
  const Scope head = scope / "head";
  if (!options.tied_head) {
    head_weight_ = &head.parameter("weight", {*options.vocabulary, options.width},
                                   linear_init(options, options.width), Role::kLinear);
  }
  if (options.head_bias) {
    head_bias_ = &head.parameter("bias", {*options.vocabulary}, Init::zeros(), Role::kBias);
  }
}

Variable Decoder::hidden(Run& run, const Tensor& tokens_BT, Caches* caches) const {
  const int64_t first = caches ? caches->position : 0;
  Variable x_BTD = embedding(run, run.tape.leaf(embedding_), tokens_BT, options_.embedding_scale);
  x_BTD = method_->embed(run, x_BTD, first);
  if (embedding_norm_) x_BTD = (*embedding_norm_)(run, x_BTD);
  x_BTD = dropout(run, x_BTD, run.dropout(options_.dropout, embedding_site_));
  for (size_t layer = 0; layer < blocks_.size(); ++layer) {
    x_BTD = blocks_[layer](run, x_BTD, caches ? &caches->layers[layer] : nullptr);
  }
  if (caches) caches->position += tokens_BT.shape()[1];
  return norm_ ? (*norm_)(run, x_BTD) : x_BTD;
}

Variable Decoder::head_weight(Run& run) const {
  return run.tape.leaf(head_weight_ ? *head_weight_ : embedding_);
}

Variable Decoder::head_bias(Run& run) const {
  return head_bias_ ? run.tape.leaf(*head_bias_) : Variable();
}

CrossEntropy Decoder::loss(Run& run, const Variable& hidden_BTD, const Tensor& targets_BT,
                           double factor) const {
  return cross_entropy(run, hidden_BTD, head_weight(run), head_bias(run), targets_BT,
                       {.factor = factor, .head_scale = options_.head_scale, .classes = classes_});
}

Variable Decoder::logits(Run& run, const Variable& hidden_BTD) const {
  const Variable scaled =
      options_.head_scale == 1 ? hidden_BTD : scale(run, hidden_BTD, options_.head_scale);
  return linear(run, scaled, head_weight(run), head_bias(run));
}

Caches Decoder::caches(Backend& backend, DType dtype, int64_t batch, int64_t capacity) const {
  const Shape shape{batch, capacity, options_.heads * options_.the_head_width()};
  Caches caches;
  for (int64_t layer = 0; layer < options_.layers; ++layer) {
    caches.layers.push_back({empty(backend, shape, dtype), empty(backend, shape, dtype), 0});
  }
  return caches;
}

}  // namespace tapemeasure
