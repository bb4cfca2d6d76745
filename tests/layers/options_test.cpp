// SPDX-License-Identifier: MIT
// Combinations that make no sense are config errors that say why; how parameters start.
#include <cmath>

#include "core/error.h"
#include "core/host.h"
#include "tests/layers/small_model.h"

namespace tapemeasure {
namespace {

struct Mistake {
  const char* model;    // keys of a model of width 8 with 2 heads
  const char* message;  // part of what is said
};
const Mistake kMistakes[] = {
    {"memory: 4, position: {kind: learned}", "stand at the same positions"},
    {"memory: 4, position: {kind: sinusoidal}", "stand at the same positions"},
    {"memory: 4, position: {kind: shaw, absolute: learned}", "learned positions number every"},
    {"memory: 4, position: {kind: alibi, absolute: sinusoidal}", "sinusoidal positions number"},
    {"memory: 4, position: {kind: rope, scaling: {kind: dynamic_ntk}}", "change with the length"},
    {"memory: 4, position: {kind: rope, scaling: {kind: longrope, short_factors: [1, 1], "
     "long_factors: [1, 1]}}",
     "change with the length"},
    {"same_length: true, position: {kind: none}", "model.same_length needs model.memory"},
    {"kind: encoder, memory: 4, position: {kind: none}", "model.memory is for model.kind decoder"},
    {"kind: encoder_decoder, memory: 4, same_length: true, position: {kind: none}",
     "encoder_decoder reads every sequence whole"},
    {"kind: encoder, window: 4", "model.window counts back"},
    {"kind: encoder_decoder, window: 4", "model.window counts back"},
    {"head_transform: true", "is for model.kind encoder (BERT's head), not decoder"},
    {"kind: encoder_decoder, head_transform: true", "not encoder_decoder"},
    {"enhanced_mask_decoder: true, norm_position: post, position: {kind: shaw}",
     "is for model.kind encoder, not decoder"},
    {"kind: encoder, enhanced_mask_decoder: true, position: {kind: deberta}", "norm_position post"},
    {"kind: encoder, enhanced_mask_decoder: true, norm_position: post", "at the input already"},
    {"kind: encoder, enhanced_mask_decoder: true, norm_position: post, position: {kind: shaw, "
     "absolute: sinusoidal}",
     "at the input already"},
    {"position: {kind: t5, stacks: encoder}", "the stacks of an encoder-decoder"},
    {"kind: encoder, position: {kind: t5, stacks: decoder}", "the stacks of an encoder-decoder"},
    {"kind: encoder, position: {kind: t5, buckets: 3}", "4 are needed"},
    {"kind: encoder_decoder, position: {kind: t5, buckets: 2}", "4 are needed"},
    {"adaptive_softmax: {cutoffs: [5, 5]}", "must rise, and 5 follows 5"},
    {"adaptive_softmax: {cutoffs: [5, 3]}", "must rise, and 3 follows 5"},
    {"vocabulary: 20, adaptive_softmax: {cutoffs: [5, 20]}", "20, is not below the vocabulary, 20"},
    {"adaptive_softmax: {div_val: 2}", "without cutoffs is a plain softmax"},
    {"adaptive_softmax: {cutoffs: [5, 7], div_val: 4}", "8 / 4^2 is below 1"},
    {"adaptive_softmax: {cutoffs: [5], div_val: 2, tied_projections: [true]}", "there are 2 bins"},
    {"adaptive_softmax: {cutoffs: [5], div_val: 2, tied_projections: [true, 3]}", "'3' is not"},
    {"adaptive_softmax: {cutoffs: [5], tied_projections: [false, true]}", "are no projections"},
    {"adaptive_softmax: {cutoffs: [5]}, tied_head: false", "its key `tied` says"},
    {"adaptive_softmax: {cutoffs: [5]}, head_scale: 2", "goes with neither"},
    {"head_width: 5, position: {kind: rope}", "is 5: change the fraction"},
    {"position: {kind: rope, fraction: 0.75}", "is 3: change the fraction"},
    {"position: {kind: rope, fraction: 0}", "is 0: change the fraction"},
    {"position: {kind: rope, fraction: 0.5, scaling: {kind: ntk}}", "more than 2 rotated"},
    {"position: {kind: rope, scaling: {kind: longrope}}", "each of the 2 pairs"},
    {"position: {kind: rope, scaling: {kind: longrope, short_factors: [1, 1], long_factors: [1]}}",
     "long_factors wants a number for each"},
    {"position: {kind: rope, scaling: {kind: llama3, high_frequency_factor: 1}}", "is not above"},
    {"position: {kind: rope, scaling: {kind: yarn, beta_fast: 0.5}}", "is below beta_slow"},
    {"position: {kind: t5, max_distance: 16}", "position.max_distance 16 is not above 16"},
    {"position: {kind: deberta, max_distance: 5, buckets: 8}", "is not above 5"},
    {"position: {kind: deberta, buckets: 1}", "too few"},
    {"position: {kind: deberta, clamp_distance: true}", "needs position.buckets"},
    {"position: {kind: learned, absolute: learned}",
     "'position.absolute' belongs to position.kind shaw"},
    {"position: {kind: rope, scaling: {kind: linear, original_length: 4}}",
     "belongs to scaling.kind dynamic_ntk"},
    {"position: {kind: rope, scaling: {kind: yarm}}", "yarn"},
};

TEST(ModelOptions, MistakesSayWhy) {
  for (const Mistake& mistake : kMistakes) {
    try {
      model_options(std::string("{width: 8, heads: 2, ") + mistake.model + "}");
      ADD_FAILURE() << mistake.model << " was taken";
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find(mistake.message), std::string::npos)
          << mistake.model << " says: " << error.what();
    }
  }
}

/// Mean and standard deviation of a parameter under an initialisation.
struct Start {
  double mean = 0, deviation = 0, count = 0;
};
Start start_of(const std::string& more, const std::string& name) {
  const ModelOptions options =
      model_options("{width: 64, heads: 4, layers: 2, vocabulary: 300, " + more + "}");
  const auto backend = make_backend("reference");
  ParameterStore store;
  const LanguageModel model(options, Scope(store));
  store.allocate(*backend, DType::kF64, 1);
  EXPECT_NE(store.find(name), nullptr) << name;
  Start start;
  const auto values = to_doubles(store.find(name)->value);
  start.count = double(values.size());
  for (const double x : values) start.mean += x / double(values.size());
  for (const double x : values) start.deviation += std::pow(x - start.mean, 2);
  start.deviation = std::sqrt(start.deviation / double(values.size()));
  return start;
}

TEST(Initialisation, DeviationsAreTheOnesThatAreStated) {
  const auto expect = [](const std::string& more, const std::string& name, double deviation) {
    const Start start = start_of(more, name);
    EXPECT_NEAR(start.deviation, deviation, 4 * deviation / std::sqrt(2 * start.count))
        << more << " " << name;
  };
  const std::string query = "blocks.0.attention.query.weight",
                    xl = "position: {kind: transformer_xl}";
  const std::string shaw = "position: {kind: shaw, max_distance: 60, per_head: true}";
  const std::string t5 = "position: {kind: t5}, initialisation: t5";
  expect("initialisation: scaled", query, 1 / std::sqrt(3.0 * 64));
  expect(shaw, "blocks.1.attention.position.key_table", 0.5 / 4);
  expect("position: {kind: deberta, max_distance: 100}", "position.table", 0.45 / 8);
  expect(xl, "position.content_bias", 0.02);
  expect("position: {kind: t5}", "position.bias", 0);
  expect("initialisation: gpt2, " + shaw, "blocks.1.attention.position.key_table", 0.02);
  expect("initialisation: gpt2", "blocks.0.attention.output.weight", 0.01);
  expect(t5, query, 1.0 / 8);
  expect(t5 + ", attention_scale: 1", query, 1.0 / 8 / 4);
  expect(t5, "blocks.0.attention.output.weight", 1.0 / 8);
  expect(t5, "blocks.0.feedforward.down.weight", 1.0 / 16);
  expect("initialisation: transformer_xl, " + xl, query, 0.02);
  expect("initialisation: transformer_xl, " + xl, "blocks.0.attention_norm.weight", 0.02);
}

TEST(Initialisation, GainsStartAroundOne) {
  EXPECT_NEAR(start_of("initialisation: transformer_xl", "norm.weight").mean, 1, 0.01);
  EXPECT_EQ(start_of("initialisation: scaled", "norm.weight").mean, 1);
}

TEST(Initialisation, LearnedSlopesStartAtTheFixedOnes) {
  const ModelOptions options =
      model_options("{width: 8, heads: 4, vocabulary: 3, position: {kind: alibi, learned: true}}");
  const SmallModel model(options, "reference", DType::kF64);
  ParameterStore store;
  const LanguageModel network(options, Scope(store));
  store.allocate(*model.backend, DType::kF64, 1);
  EXPECT_EQ(to_doubles(store.find("position.slopes")->value),
            (std::vector{0.25, 0.0625, 0.015625, 0.00390625}));
}

}  // namespace
}  // namespace tapemeasure
