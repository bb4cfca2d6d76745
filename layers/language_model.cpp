// SPDX-License-Identifier: MIT
#include "layers/language_model.h"

#include <algorithm>

#include "core/error.h"
#include "core/host.h"

namespace tapemeasure {

LanguageModel::LanguageModel(const ModelOptions& options, const Scope& scope)
    : options_(options), vocabulary_(make_vocabulary(options, scope)) {
  switch (options.kind) {
    case ModelKind::kDecoder:
      stack_.emplace(options, StackKind::kDecoder, scope);
      break;
    case ModelKind::kEncoder:
      stack_.emplace(options, StackKind::kEncoder, scope);
      break;
    case ModelKind::kEncoderDecoder:
      encoder_.emplace(options, StackKind::kEncoder, scope / "encoder");
      stack_.emplace(options, StackKind::kCrossDecoder, scope / "decoder");
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

Variable LanguageModel::hidden(Run& run, const ModelInput& input) const {
  return input.caches ? cached(run, input) : forward(run, input);
}

Variable LanguageModel::cached(Run& run, const ModelInput& input) const {
  Caches* caches = input.caches;
  const int64_t batch = input.tokens_BT.shape()[0], fresh = input.tokens_BT.shape()[1];
  const int32_t* token = input.tokens_BT.data<int32_t>();
  for (std::vector<int32_t>& sequence : caches->tokens) {
    sequence.insert(sequence.end(), token, token + fresh);
    token += fresh;
  }
  const int64_t length = caches->position + fresh, version = stack_->version(length);
  if (caches->position == 0) caches->version = version;
  if (version == caches->version) return forward(run, input);
  // Keys in the cache were turned by other angles, and so were what all later layers made of them:
  // everything is read again.
  for (KeyValueCache& layer : caches->layers) layer.length = layer.first = 0;
  caches->position = 0;
  caches->version = version;
  std::vector<int32_t> all;
  for (const std::vector<int32_t>& sequence : caches->tokens) {
    all.insert(all.end(), sequence.begin(), sequence.end());
  }
  ModelInput again = input;
  again.tokens_BT = to_tensor(input.tokens_BT.backend(), {batch, length}, all);
  return last_rows(forward(run, again), fresh);
}

Variable LanguageModel::encoded(Run& run, const Tensor& source_BS,
                                const Tensor& source_lengths_B) const {
  const std::optional<int64_t> longest = encoder_->longest();
  check<ConfigError>(
      !longest || source_BS.shape()[1] <= *longest,
      "a source of {} tokens is longer than the encoder's positions reach, {}: raise "
      "model.context",
      source_BS.shape()[1], longest.value_or(0));
  return (*encoder_)(run, vocabulary_->embed(run, source_BS), {.key_end = source_lengths_B});
}

/// The documents of all tokens so far, those in caches included.
Tensor LanguageModel::documents(const ModelInput& input) const {
  if (!ends_.any()) return {};
  check<ConfigError>(!input.lanes.memory || input.lanes.memory->length() == 0,
                     "model.document_end does not go with memory: what is remembered does not say "
                     "which document it is of");
  const Tensor& fed_BT = input.tokens_BT;
  const int64_t batch = fed_BT.shape()[0];
  const auto tokens = [&](int64_t b) {
    if (input.caches) return std::span<const int32_t>(input.caches->tokens[static_cast<size_t>(b)]);
    const int64_t count = fed_BT.shape()[1];
    return std::span<const int32_t>(fed_BT.data<int32_t>() + b * count, static_cast<size_t>(count));
  };
  const auto length = static_cast<int64_t>(tokens(0).size());
  const Tensor numbers_BS = empty(fed_BT.backend(), {batch, length}, DType::kI32);
  for (int64_t b = 0; b < batch; ++b) {
    ends_.number(tokens(b), {numbers_BS.data<int32_t>() + b * length, tokens(b).size()});
  }
  return numbers_BS;
}

Variable LanguageModel::forward(Run& run, const ModelInput& input) const {
  check<ShapeError>(
      !input.prefix_B.defined() || (options_.kind == ModelKind::kDecoder && !input.lanes.memory &&
                                    !(input.caches && input.caches->window > 0)),
      "a prefix is for decoders without memory, and without a window in generation");
  StackSource source{.key_end = input.lengths_B,
                     .prefix = input.prefix_B,
                     .documents_BS = documents(input),
                     .encoded_end = input.source_lengths_B,
                     .caches = input.caches,
                     .lanes = input.lanes};
  if (encoder_) {
    Caches* caches = input.caches;
    if (caches && caches->encoded_BSD.defined()) {
      source.encoded_BSD = Variable(caches->encoded_BSD);
      source.encoded_end = caches->encoded_end;
    } else {
      check<ConfigError>(input.source_BS.defined(),
                         "an encoder-decoder writes what a source says: give it one");
      source.encoded_BSD = encoded(run, input.source_BS, input.source_lengths_B);
    }
    if (caches) {
      caches->encoded_BSD = source.encoded_BSD.value();
      caches->encoded_end = source.encoded_end;
    }
  }
  return (*stack_)(run, vocabulary_->embed(run, input.tokens_BT), source);
}

Caches LanguageModel::caches(Backend& backend, DType dtype, int64_t batch, int64_t capacity,
                             int64_t window) const {
  constexpr int64_t kPiece = 64;  // shorter ones would move rows often
  Caches caches;
  caches.window = window;
  int64_t rows = capacity;
  // A method that turns all keys anew at some length reads everything again there.
  if (window > 0 && stack_->version(capacity) == stack_->version(1)) {
    caches.longest_piece = std::max(window, kPiece);
    rows = std::min(capacity, 2 * caches.longest_piece);
  }
  const Shape shape{batch, rows, options_.heads * options_.the_head_width()};
  caches.tokens.resize(static_cast<size_t>(batch));
  for (int64_t layer = 0; layer < options_.layers; ++layer) {
    caches.layers.push_back({empty(backend, shape, dtype), empty(backend, shape, dtype)});
  }
  caches.cross.resize(encoder_ ? caches.layers.size() : 0);
  return caches;
}

Memory LanguageModel::memory(Backend& backend, DType dtype, int64_t sequences,
                             int64_t length) const {
  return Memory(backend, dtype,
                {.layers = options_.layers,
                 .sequences = sequences,
                 .width = options_.width,
                 .length = length});
}

}  // namespace tapemeasure
