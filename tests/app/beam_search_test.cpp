// SPDX-License-Identifier: MIT
// Continuations from a source, chosen among, and searched by a beam.
#include "app/beam_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/generator.h"
#include "core/error.h"
#include "core/host.h"
#include "core/random.h"

namespace tapemeasure {
namespace {

using Tokens = std::vector<int32_t>;

/// A model without a tokenizer: its words are its vocabulary.
std::unique_ptr<Model> model_of(const std::string& more, int64_t vocabulary,
                                double deviation = 0.5) {
  Config config = Config::parse(
      "{data: {text: none}, model: {width: 8, heads: 2, layers: 2, "
      "context: 16, " +
          more + "}}",
      "test");
  Experiment experiment;
  config.into(experiment);
  experiment.model.vocabulary = vocabulary;
  experiment.trainer.backend = "reference";
  experiment.trainer.precision = Precision::kF64;
  auto model = std::make_unique<Model>(experiment, nullptr);
  for (const Parameter& parameter : model->store.all()) {
    for (int64_t i = 0; i < parameter.value.count(); ++i) {
      parameter.value.data<double>()[i] +=
          deviation * random_normal(hash_text(parameter.name), static_cast<uint64_t>(i));
    }
  }
  return model;
}

/// Logits behind the last token, computed anew.
std::vector<double> uncached(const Model& model, const Tokens& tokens, const Tokens& source) {
  const auto count = static_cast<int64_t>(tokens.size());
  Tape tape(false);
  Run run(tape);
  ModelInput input{.tokens_BT = to_tensor(*model.backend, {1, count}, tokens)};
  if (!source.empty()) {
    input.source_BS = to_tensor(*model.backend, {1, static_cast<int64_t>(source.size())}, source);
  }
  const std::vector<double> all =
      to_doubles(model.network->logits(run, model.network->hidden(run, input)).value());
  return {all.end() - static_cast<int64_t>(all.size()) / count, all.end()};
}

/// The log-probability of each next word.
std::vector<double> next_words(const Model& model, const Tokens& tokens, const Tokens& source) {
  std::vector<double> words = uncached(model, tokens, source);
  double sum = 0;
  for (const double x : words) sum += std::exp(x);
  for (double& x : words) x -= std::log(sum);
  return words;
}

Tokens joined(const Tokens& a, const Tokens& b) {
  Tokens all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

class EveryMethod : public testing::TestWithParam<std::string> {};

TEST_P(EveryMethod, SelectedSequencesGoOnAsTheyWere) {
  for (const char* kind : {"decoder", "encoder_decoder"}) {
    const bool crosses = std::string(kind) == "encoder_decoder";
    const auto model =
        model_of(std::string("kind: ") + kind + ", position: {kind: " + GetParam() + "}", 11);
    const std::vector<Tokens> prompts = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
    std::vector<Tokens> sources = {{3, 1, 4, 1, 5}, {9, 2}, {6, 5, 3}};
    if (!crosses) sources.assign(3, {});
    Continuation continuation(*model, 3, 8);
    if (crosses) continuation.read(sources);
    continuation.feed(prompts);
    continuation.select({2, 0, 2, 1});
    const auto logits = continuation.feed({{1}, {1}, {0}, {5}});
    const std::vector<std::pair<size_t, int32_t>> now = {{2, 1}, {0, 1}, {2, 0}, {1, 5}};
    for (size_t b = 0; b < now.size(); ++b) {
      const auto& [from, token] = now[b];
      EXPECT_EQ(logits[b], uncached(*model, joined(prompts[from], {token}), sources[from]))
          << kind << " " << b;
    }
    continuation.select({3});
    EXPECT_EQ(continuation.feed({{2}})[0], uncached(*model, {4, 5, 6, 5, 2}, sources[1])) << kind;
  }
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const auto& kind : position_methods()) names.push_back(kind.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Methods, EveryMethod, testing::ValuesIn(method_names()),
                         [](const auto& info) { return info.param; });

const char* const kTranslator = "kind: encoder_decoder, position: {kind: t5}";

/// The best of all continuations.
Hypothesis exhaustive(const Model& model, const Tokens& prompt, const Tokens& source,
                      const BeamOptions& options) {
  Hypothesis best{{}, -INFINITY};
  std::vector<Hypothesis> live = {Hypothesis{}};
  for (int64_t n = 1; n <= options.tokens; ++n) {
    std::vector<Hypothesis> next;
    for (const Hypothesis& parent : live) {
      const auto words = next_words(model, joined(prompt, parent.tokens), source);
      for (size_t word = 0; word < words.size(); ++word) {
        const auto token = static_cast<int32_t>(word);
        Hypothesis longer{joined(parent.tokens, {token}), parent.score + words[word]};
        if (token != options.end && n < options.tokens) {
          next.push_back(longer);
          continue;
        }
        longer.score /= std::pow(static_cast<double>(n), options.length_penalty);
        if (longer.score > best.score) best = longer;
      }
    }
    live = next;
  }
  return best;
}

TEST(BeamSearch, WideEnoughIsExhaustive) {
  const auto model = model_of(kTranslator, 4);
  for (const double penalty : {0.0, 0.6, 1.0, 3.0}) {
    for (const Tokens& source : {Tokens{1, 2, 3}, Tokens{2}, Tokens{3, 3, 0, 1, 2, 2}}) {
      const BeamOptions options{.width = 64, .length_penalty = penalty, .end = 0, .tokens = 4};
      const Hypothesis best = exhaustive(*model, {1}, source, options);
      const auto found = beam_search(*model, {1}, source, options);
      EXPECT_EQ(found[0].tokens, best.tokens);
      EXPECT_NEAR(found[0].score, best.score, 1e-12);
      EXPECT_TRUE(std::is_sorted(found.begin(), found.end(),
                                 [](const auto& a, const auto& b) { return a.score > b.score; }));
    }
  }
}

TEST(BeamSearch, WidthOneIsGreedy) {
  const auto model = model_of(kTranslator, 11);
  const Tokens source = {5, 4, 10, 3};
  const auto found = beam_search(*model, {1, 2}, source, {.width = 1, .end = -1, .tokens = 9});
  ASSERT_EQ(found.size(), 1u);
  Tokens greedy = {1, 2};
  for (int n = 0; n < 9; ++n) {
    const auto words = next_words(*model, greedy, source);
    greedy.push_back(
        static_cast<int32_t>(std::max_element(words.begin(), words.end()) - words.begin()));
  }
  EXPECT_EQ(joined({1, 2}, found[0].tokens), greedy);
}

TEST(BeamSearch, WithoutASourceDecodersContinue) {
  const auto model = model_of("position: {kind: rope}", 4);
  const BeamOptions options{.width = 64, .length_penalty = 1, .end = 2, .tokens = 3};
  const auto found = beam_search(*model, {3, 1}, {}, options);
  EXPECT_EQ(found[0].tokens, exhaustive(*model, {3, 1}, {}, options).tokens);
}

TEST(BeamSearch, MistakesAreTold) {
  const auto translator = model_of(kTranslator, 4);
  EXPECT_THROW(beam_search(*translator, {}, {1}, {}), ConfigError);
  EXPECT_THROW(beam_search(*translator, {1}, {}, {.tokens = 2}), ConfigError);  // no source
  EXPECT_THROW(beam_search(*translator, {1}, {1}, {.width = 0}), ConfigError);
  EXPECT_THROW(beam_search(*model_of("position: {kind: rope}", 4), {1}, {1}, {}), ConfigError);
  EXPECT_THROW(Continuation(*model_of("kind: encoder", 4), 1, 4), ConfigError);
  Continuation continuation(*translator, 2, 4);
  EXPECT_THROW(continuation.read({{1}, {}}), ConfigError);
}

}  // namespace
}  // namespace tapemeasure
