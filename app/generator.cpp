// SPDX-License-Identifier: MIT
#include "app/generator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/host.h"
#include "core/random.h"

namespace tapemeasure {

int32_t sample(std::vector<double> logits, const SamplingOptions& options, double draw) {
  const bool usable =
      std::none_of(logits.begin(), logits.end(), [](double logit) { return std::isnan(logit); });
  check<NonFiniteError>(usable, "a logit is not a number: the model's weights are not finite");
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  // Ties go to the lower id, so that the order is one.
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
  if (options.temperature == 0) return order[0];
  if (options.top_k > 0 && options.top_k < static_cast<int64_t>(order.size())) {
    order.resize(static_cast<size_t>(options.top_k));
  }
  std::vector<double> shares;
  double total = 0;
  for (const int32_t id : order) {
    shares.push_back(std::exp((logits[id] - logits[order[0]]) / options.temperature));
    total += shares.back();
  }
  size_t kept = 0;
  double reached = 0;
  while (kept < shares.size() && (kept == 0 || reached < options.top_p * total)) {
    reached += shares[kept++];
  }
  double left = draw * reached;
  for (size_t i = 0; i < kept; ++i) {
    left -= shares[i];
    if (left < 0) return order[i];
  }
  return order[kept - 1];
}

Continuation::Continuation(const Model& model, int64_t batch, int64_t capacity, int64_t window)
    : model_(model),
      caches_(model.network->caches(*model.backend, model.dtype, batch, capacity, window)) {
  check<ConfigError>(model.network->options().kind != ModelKind::kEncoder,
                     "a model of kind encoder fills gaps in whole texts: it cannot continue one");
  check<ConfigError>(window == 0 || !model.has_prefix,
                     "a window would forget parts of the prompt, which this model sees both ways");
}

void Continuation::read(const std::vector<std::vector<int32_t>>& sources) {
  check<ConfigError>(model_.network->options().kind == ModelKind::kEncoderDecoder,
                     "only a model of kind encoder_decoder reads a source");
  const auto batch = static_cast<int64_t>(sources.size());
  int64_t longest = 0;
  std::vector<int32_t> lengths, ids;
  for (const std::vector<int32_t>& source : sources) {
    check<ConfigError>(!source.empty(), "a source is empty: give at least one token");
    longest = std::max(longest, static_cast<int64_t>(source.size()));
    lengths.push_back(static_cast<int32_t>(source.size()));
  }
  for (const std::vector<int32_t>& source : sources) {
    ids.insert(ids.end(), source.begin(), source.end());
    ids.resize(ids.size() + static_cast<size_t>(longest) - source.size(), 0);
  }
  Tape tape(false);
  Run run(tape);
  caches_.encoded_end = to_tensor(*model_.backend, {batch}, lengths);
  caches_.encoded_BSD =
      model_.network
          ->encoded(run, to_tensor(*model_.backend, {batch, longest}, ids), caches_.encoded_end)
          .value();
}

namespace {
/// Sequences of x [B, R, C], of which `rows` rows are in use.
void select_rows(Tensor& x, int64_t rows, const std::vector<int64_t>& sequences) {
  if (!x.defined()) return;
  const auto count = static_cast<int64_t>(sequences.size());
  const Tensor chosen = empty(x.backend(), {count, x.shape()[1], x.shape()[2]}, x.dtype());
  for (int64_t b = 0; b < count && rows > 0; ++b) {
    x.backend().scale(1, x.sequence_rows(sequences[static_cast<size_t>(b)], 0, rows),
                      chosen.sequence_rows(b, 0, rows));
  }
  x = chosen;
}
}  // namespace

void Continuation::select(const std::vector<int64_t>& sequences) {
  for (KeyValueCache& layer : caches_.layers) {
    select_rows(layer.keys_BSC, layer.length, sequences);
    select_rows(layer.values_BSC, layer.length, sequences);
  }
  const Tensor encoded = caches_.encoded_BSD;
  const int64_t rows = encoded.defined() ? encoded.shape()[1] : 0;
  for (KeyValueCache& layer : caches_.cross) {
    select_rows(layer.keys_BSC, rows, sequences);
    select_rows(layer.values_BSC, rows, sequences);
  }
  select_rows(caches_.encoded_BSD, rows, sequences);
  std::vector<int32_t> ends;
  std::vector<std::vector<int32_t>> tokens;
  for (const int64_t b : sequences) {
    tokens.push_back(caches_.tokens[static_cast<size_t>(b)]);
    if (caches_.encoded_end.defined()) ends.push_back(caches_.encoded_end.data<int32_t>()[b]);
  }
  caches_.tokens = std::move(tokens);
  if (caches_.encoded_end.defined()) {
    caches_.encoded_end =
        to_tensor(*model_.backend, {static_cast<int64_t>(sequences.size())}, ends);
  }
}

std::vector<std::vector<double>> Continuation::feed(
    const std::vector<std::vector<int32_t>>& tokens) {
  const auto batch = static_cast<int64_t>(tokens.size());
  const auto count = static_cast<int64_t>(tokens[0].size());
  const int64_t piece = caches_.longest_piece > 0 ? caches_.longest_piece : count;
  std::vector<std::vector<double>> logits;
  for (int64_t first = 0; first < count; first += piece) {
    const int64_t fed = std::min(piece, count - first);
    const Tensor tokens_BT = empty(*model_.backend, {batch, fed}, DType::kI32);
    for (int64_t b = 0; b < batch; ++b) {
      const std::vector<int32_t>& row = tokens[static_cast<size_t>(b)];
      check<ShapeError>(static_cast<int64_t>(row.size()) == count, "sequences differ in length");
      std::copy_n(row.begin() + first, fed, tokens_BT.data<int32_t>() + b * fed);
    }
    logits = feed(tokens_BT);
  }
  return logits;
}

std::vector<std::vector<double>> Continuation::feed(const Tensor& tokens_BT) {
  const int64_t batch = tokens_BT.shape()[0], count = tokens_BT.shape()[1];
  Tape tape(false);
  Run run(tape);
  ModelInput input{.tokens_BT = tokens_BT, .caches = &caches_};
  if (model_.has_prefix) {
    if (caches_.position == 0) prefix_ = static_cast<int32_t>(count);
    const std::vector<int32_t> prefixes(static_cast<size_t>(batch), prefix_);
    input.prefix_B = to_tensor(*model_.backend, {batch}, prefixes);
  }
  const Tensor hidden_BTD = model_.network->hidden(run, input).value();
  const int64_t width = hidden_BTD.shape()[2];
  std::vector<std::vector<double>> logits;
  for (int64_t b = 0; b < batch; ++b) {
    const Tensor last = hidden_BTD.sequence_rows(b, count - 1, 1).reshaped({1, 1, width});
    logits.push_back(to_doubles(model_.network->logits(run, Variable(last)).value()));
  }
  return logits;
}

void generate(const Model& model, const std::vector<int32_t>& prompt,
              const SamplingOptions& options, const std::function<void(int32_t)>& token) {
  check<ConfigError>(!prompt.empty(), "the prompt is empty: give at least one token");
  if (options.tokens == 0) return;
  const auto capacity = static_cast<int64_t>(prompt.size()) + options.tokens - 1;
  Continuation continuation(model, 1, capacity, options.window);
  if (!options.source.empty()) continuation.read({options.source});
  std::vector<std::vector<double>> logits = continuation.feed({prompt});
  for (int64_t n = 0; n < options.tokens; ++n) {
    const uint64_t key = random_key(static_cast<uint64_t>(options.seed), Stream::kSampling,
                                    static_cast<uint64_t>(n), 0);
    // Rows added to the vocabulary beyond the tokenizer's (padding) are never sampled.
    logits[0].resize(static_cast<size_t>(model.tokenizer->vocabulary()));
    const int32_t next = sample(std::move(logits[0]), options, random_uniform(key, 0));
    token(next);
    if (n + 1 < options.tokens) logits = continuation.feed({{next}});
  }
}

}  // namespace tapemeasure
