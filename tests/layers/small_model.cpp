// SPDX-License-Identifier: MIT
#include "tests/layers/small_model.h"

#include <algorithm>
#include <cmath>

#include "core/config/config.h"
#include "core/host.h"

namespace tapemeasure {

namespace {
std::vector<Method> known_methods() {
  return {
      {"none", "{kind: none}"},
      {"sinusoidal", "{kind: sinusoidal}", false, false},
      {"learned", "{kind: learned}", false, false},
      {"shaw", "{kind: shaw, max_distance: 3}"},
      {"shaw_keys_per_head", "{kind: shaw, max_distance: 2, per_head: true, values: false}"},
      {"shaw_values", "{kind: shaw, max_distance: 40, keys: false, max_future: 0}"},
      {"transformer_xl", "{kind: transformer_xl}", true, true, false},
      {"transformer_xl_untied_clamped",
       "{kind: transformer_xl, tie_biases: false, clamp_length: 4, dropout: 0.2}"},
      {"t5", "{kind: t5, buckets: 8, max_distance: 16}"},
      {"t5_per_layer", "{kind: t5, buckets: 5, max_distance: 7, shared: false}"},
      {"deberta", "{kind: deberta, max_distance: 5, dropout: 0.2}", true, true, true},
      {"deberta_buckets",
       "{kind: deberta, max_distance: 16, buckets: 6, share_projections: true, "
       "normalize_table: true, p2c_index: paper, clamp_distance: true}",
       true, true, true},
      {"deberta_c2p", "{kind: deberta, max_distance: 3, position_to_content: false}"},
      {"alibi", "{kind: alibi}"},
      {"alibi_learned", "{kind: alibi, learned: true}"},
      {"rope", "{kind: rope}", true, true, true},
      {"rope_interleaved_half", "{kind: rope, layout: interleaved, fraction: 0.5, theta: 100}",
       true, true, true},
      {"rope_linear", "{kind: rope, scaling: {kind: linear, factor: 3}}", true, true, true},
      {"rope_ntk", "{kind: rope, scaling: {kind: ntk, factor: 3}}", true, true, true},
      {"rope_dynamic_ntk", "{kind: rope, scaling: {kind: dynamic_ntk, factor: 2}}", false, true,
       true},
      {"rope_yarn", "{kind: rope, scaling: {kind: yarn, factor: 4}}", true, true, true},
      {"rope_longrope",
       "{kind: rope, scaling: {kind: longrope, factor: 2, short_factors: [1, 1.1], "
       "long_factors: [1.5, 3]}}",
       false, true, true},
      {"rope_llama3", "{kind: rope, scaling: {kind: llama3, factor: 4}}", true, true, true},
  };
}
}  // namespace

std::vector<Method> methods() {
  std::vector<Method> all = known_methods();
  for (const Kind<PositionOptions>& kind : position_methods()) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const Method& method) {
      return std::string(method.name) == kind.name;
    });
    if (!known) all.push_back({kind.name, std::string("{kind: ") + kind.name + "}"});
  }
  return all;
}

ModelOptions model_options(const std::string& yaml) {
  ModelOptions options;
  const Config config = Config::parse(yaml, "test.yaml");
  config.into(options);
  options.validate([&](const std::string& key) { return key; });
  return options;
}

ModelOptions small_options(const Method& method, const std::string& more) {
  return model_options(
      "{width: 8, heads: 2, layers: 2, context: 8, vocabulary: 11, feedforward: 12, position: " +
      method.position + (more.empty() ? "" : ", " + more) + "}");
}

SmallModel::SmallModel(const ModelOptions& options, const char* backend_name, DType the_dtype)
    : backend(make_backend(backend_name)),
      dtype(the_dtype),
      network(std::make_unique<LanguageModel>(options, Scope(store))) {
  store.allocate(*backend, dtype, 3);
  // Away from 0 and 1, so that no term can be missing unseen.
  for (const Parameter& parameter : store.all()) {
    std::vector<double> values = to_doubles(parameter.value);
    const uint64_t key = random_key(9, Stream::kSampling, 0, hash_text(parameter.name));
    for (size_t i = 0; i < values.size(); ++i) values[i] += 0.3 * random_normal(key, i);
    backend->scale(1, to_tensor(*backend, parameter.shape, dtype, values), parameter.value);
  }
}

Tensor SmallModel::tokens(int64_t batch, int64_t first, int64_t count) const {
  std::vector<int32_t> ids;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t t = first; t < first + count; ++t) {
      const auto index = static_cast<uint64_t>(b * 1000 + t);
      ids.push_back(static_cast<int32_t>(random_below(17, index, 11)));
    }
  }
  return to_tensor(*backend, {batch, count}, ids);
}

namespace {
std::vector<std::vector<double>> by_sequence(const Variable& x_BTD) {
  std::vector<std::vector<double>> rows;
  for (int64_t b = 0; b < x_BTD.shape()[0]; ++b) {
    rows.push_back(to_doubles(x_BTD.value().rows(b, 1)));
  }
  return rows;
}
}  // namespace

std::vector<std::vector<double>> SmallModel::hidden(const ModelInput& input) const {
  Tape tape(false);
  Run run(tape);
  return by_sequence(network->hidden(run, input));
}

std::vector<std::vector<double>> SmallModel::hidden(const Tensor& tokens_BT, Caches* caches) const {
  return hidden({.tokens_BT = tokens_BT, .caches = caches});
}

std::vector<std::vector<double>> SmallModel::hidden(const Tensor& tokens_BT,
                                                    const MemoryLanes& lanes) const {
  return hidden({.tokens_BT = tokens_BT, .lanes = lanes});
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = std::abs(a[i] - b[i]);
    worst = std::isnan(x) ? INFINITY : std::max(worst, x);
  }
  return worst;
}

double largest(const std::vector<double>& a) {
  double top = 0;
  for (const double x : a) top = std::max(top, std::abs(x));
  return top;
}

}  // namespace tapemeasure
