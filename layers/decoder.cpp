// SPDX-License-Identifier: MIT
#include "layers/decoder.h"

#include <algorithm>

#include "core/host.h"
#include "layers/initialisation.h"

namespace tapemeasure {

Decoder::Decoder(const ModelOptions& options, const Scope& scope)
    : options_(options),
      embedding_site_(hash_text((scope / "embedding").path())),
      embedding_((scope / "embedding")
                     .parameter("weight", {options.vocabulary.value(), options.width},
                                Init::normal(options.embedding_deviation()), Role::kEmbedding)),
      method_(options.position.options->build(options, scope / "position")),
      absolute_(options.position.options->build_absolute(options, scope / "position")) {
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

namespace {
/// The last `count` rows of every sequence, for values that no gradient reaches.
Variable last_rows(const Variable& x_BTD, int64_t count) {
  const Tensor& x = x_BTD.value();
  const int64_t batch = x.shape()[0], rows = x.shape()[1], width = x.shape()[2];
  const Tensor y = empty(x.backend(), {batch, count, width}, x.dtype());
  for (int64_t b = 0; b < batch; ++b) {
    x.backend().scale(1, x.sequence_rows(b, rows - count, count), y.sequence_rows(b, 0, count));
  }
  return Variable(y);
}
}  // namespace

Variable Decoder::hidden(Run& run, const Tensor& tokens_BT, const MemoryLanes& lanes) const {
  return forward(run, tokens_BT, nullptr, lanes);
}

Variable Decoder::hidden(Run& run, const Tensor& tokens_BT, Caches* caches) const {
  if (caches == nullptr) return forward(run, tokens_BT, nullptr, {});
  const int64_t batch = tokens_BT.shape()[0], fresh = tokens_BT.shape()[1];
  const int32_t* token = tokens_BT.data<int32_t>();
  for (std::vector<int32_t>& sequence : caches->tokens) {
    sequence.insert(sequence.end(), token, token + fresh);
    token += fresh;
  }
  const int64_t length = caches->position + fresh, version = method_->version(length);
  if (caches->position == 0) caches->version = version;
  if (version == caches->version) return forward(run, tokens_BT, caches, {});
  // Keys in the cache were turned by other angles, and so were what all later layers made of them:
  // everything is read again.
  for (KeyValueCache& layer : caches->layers) layer.length = layer.first = 0;
  caches->position = 0;
  caches->version = version;
  std::vector<int32_t> all;
  for (const std::vector<int32_t>& sequence : caches->tokens) {
    all.insert(all.end(), sequence.begin(), sequence.end());
  }
  const Tensor all_BT = to_tensor(tokens_BT.backend(), {batch, length}, all);
  return last_rows(forward(run, all_BT, caches, {}), fresh);
}

AttentionMask Decoder::mask(const MemoryLanes& lanes, const Caches* caches) const {
  AttentionMask mask;
  const auto narrow = [&](int64_t window) {
    if (window > 0) mask.window = mask.window > 0 ? std::min(mask.window, window) : window;
  };
  narrow(options_.window);
  if (caches) narrow(caches->window);
  if (options_.same_length) narrow(lanes.memory ? lanes.memory->length() : options_.memory);
  return mask;
}

Variable Decoder::forward(Run& run, const Tensor& tokens_BT, Caches* caches,
                          const MemoryLanes& lanes) const {
  const int64_t first = caches ? caches->position : 0;
  Variable x_BTD = embedding(run, run.tape.leaf(embedding_), tokens_BT, options_.embedding_scale);
  x_BTD = method_->embed(run, x_BTD, first);
  if (absolute_) x_BTD = absolute_->embed(run, x_BTD, first);
  if (embedding_norm_) x_BTD = (*embedding_norm_)(run, x_BTD);
  x_BTD = dropout(run, x_BTD, run.dropout(options_.dropout, embedding_site_));
  BlockSource source{.mask = mask(lanes, caches)};
  for (size_t layer = 0; layer < blocks_.size(); ++layer) {
    if (caches) source.cache = &caches->layers[layer];
    if (lanes.memory) {
      const auto index = static_cast<int64_t>(layer);
      source.memory_BMD = lanes.memory->layer(index, lanes.first_sequence, tokens_BT.shape()[0]);
      lanes.memory->keep(index, lanes.first_sequence, x_BTD.value());
    }
    x_BTD = blocks_[layer](run, x_BTD, source);
  }
  if (caches) caches->position += tokens_BT.shape()[1];
  return norm_ ? (*norm_)(run, x_BTD) : x_BTD;
}

std::optional<int64_t> Decoder::longest() const {
  const auto longest = method_->longest();
  return longest || !absolute_ ? longest : absolute_->longest();
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

Caches Decoder::caches(Backend& backend, DType dtype, int64_t batch, int64_t capacity,
                       int64_t window) const {
  constexpr int64_t kPiece = 64;  // shorter ones would move rows often
  Caches caches;
  caches.window = window;
  int64_t rows = capacity;
  // A method that turns all keys anew at some length reads everything again there.
  if (window > 0 && method_->version(capacity) == method_->version(1)) {
    caches.longest_piece = std::max(window, kPiece);
    rows = std::min(capacity, 2 * caches.longest_piece);
  }
  const Shape shape{batch, rows, options_.heads * options_.the_head_width()};
  caches.tokens.resize(static_cast<size_t>(batch));
  for (int64_t layer = 0; layer < options_.layers; ++layer) {
    caches.layers.push_back({empty(backend, shape, dtype), empty(backend, shape, dtype)});
  }
  return caches;
}

Memory Decoder::memory(Backend& backend, DType dtype, int64_t sequences, int64_t length) const {
  return Memory(backend, dtype,
                {.layers = options_.layers,
                 .sequences = sequences,
                 .width = options_.width,
                 .length = length});
}

}  // namespace tapemeasure
