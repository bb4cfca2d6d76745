// SPDX-License-Identifier: MIT
// Sampling, and the cache that it stands on.
#include "app/generator.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "core/error.h"
#include "core/host.h"
#include "core/random.h"
#include "tests/cli/small_model.h"

namespace tapemeasure {
namespace {

using testing::letters;
using testing::small_experiment;
using testing::small_model;
using testing::SmallText;

std::vector<int32_t> ids_of(const SmallText& text, size_t count) {
  return {text.ids.begin(), text.ids.begin() + static_cast<int64_t>(count)};
}

class GeneratorTest : public ::testing::Test {
 protected:
  std::vector<int32_t> continued(const SamplingOptions& options, size_t prompt = 5) {
    std::vector<int32_t> tokens;
    generate(*model_, ids_of(text_, prompt), options, [&](int32_t id) { tokens.push_back(id); });
    return tokens;
  }

  SmallText text_{"char", letters(400)};
  // The scale of the head makes the choice a real one.
  std::unique_ptr<Model> model_ =
      small_model(small_experiment("layers: 2, width: 8, heads: 2, context: 16, head_scale: 3, "
                                   "position: {kind: sinusoidal}"),
                  text_.tokenizer);
};

TEST_F(GeneratorTest, GreedyIsOneText) {
  const auto greedy = continued({.tokens = 40, .temperature = 0});
  EXPECT_EQ(greedy.size(), 40u);
  EXPECT_EQ(continued({.tokens = 40, .seed = 9, .temperature = 0}), greedy);
  EXPECT_EQ(continued({.tokens = 40, .temperature = 1e-9}), greedy);
  EXPECT_EQ(continued({.tokens = 40, .top_k = 1}), greedy);
  EXPECT_EQ(continued({.tokens = 40, .top_p = 1e-9}), greedy);
  EXPECT_EQ(continued({.tokens = 40, .top_p = 0}), greedy);
}

TEST_F(GeneratorTest, TheSeedDecides) {
  const auto one = continued({.tokens = 60, .seed = 1});
  EXPECT_EQ(continued({.tokens = 60, .seed = 1}), one);
  EXPECT_NE(continued({.tokens = 60, .seed = 2}), one);
  // Token n does not depend on how many are asked for.
  const auto less = continued({.tokens = 20, .seed = 1});
  EXPECT_TRUE(std::equal(less.begin(), less.end(), one.begin()));
}

TEST_F(GeneratorTest, EveryTokenIsOne) {
  for (const int32_t id : continued({.tokens = 300, .temperature = 50})) {
    EXPECT_GE(id, 0);
    EXPECT_LT(id, text_.tokenizer->vocabulary());
  }
  EXPECT_TRUE(continued({.tokens = 0}).empty());
}

TEST_F(GeneratorTest, AnEmptyPromptIsRefused) {
  EXPECT_THROW(generate(*model_, {}, {}, [](int32_t) {}), ConfigError);
  EXPECT_THROW(generate(*model_, {}, {.tokens = 0}, [](int32_t) {}), ConfigError);
}

// R162.
TEST_F(GeneratorTest, APromptOfTenContexts) {
  EXPECT_EQ(continued({.tokens = 10, .temperature = 0}, 160).size(), 10u);
}

// R140.
TEST_F(GeneratorTest, RowsWithoutTokensAreNeverSampled) {
  model_ = small_model(small_experiment("layers: 1, width: 8, heads: 2, context: 16, "
                                        "tied_head: false, head_bias: true, vocabulary: 64"),
                       text_.tokenizer);
  Parameter& bias = *model_->store.find("head.bias");
  for (int64_t i = 10; i < 64; ++i) bias.value.data<double>()[i] = 100;
  for (const double temperature : {0.0, 1.0, 20.0}) {
    for (const int32_t id : continued({.tokens = 200, .temperature = temperature})) {
      ASSERT_LT(id, 10);
    }
  }
}

// -- One draw.

std::map<int32_t, double> shares(const std::vector<double>& logits, const SamplingOptions& o) {
  constexpr int kDraws = 100000;
  std::map<int32_t, double> shares;
  for (int i = 0; i < kDraws; ++i) {
    shares[sample(logits, o, random_uniform(42, static_cast<uint64_t>(i)))] += 1.0 / kDraws;
  }
  return shares;
}

/// Pearson's statistic over 10^5 draws; with at most 5 degrees of freedom 25 is beyond 1 in 10,000.
void expect_shares(const std::map<int32_t, double>& got, std::vector<double> weights) {
  double total = 0, statistic = 0;
  for (const double weight : weights) total += weight;
  for (size_t id = 0; id < weights.size(); ++id) {
    const auto found = got.find(static_cast<int32_t>(id));
    const double share = found == got.end() ? 0 : found->second, wanted = weights[id] / total;
    if (wanted == 0) {
      EXPECT_EQ(share, 0) << id;
    } else {
      statistic += 100000 * (share - wanted) * (share - wanted) / wanted;
    }
  }
  EXPECT_LT(statistic, 25);
}

TEST(Sample, DrawsAreSharesOfTheSoftmax) {
  // exp: 1, 2, 4, 8, 16, 1
  const double ln2 = std::log(2.0);
  const std::vector<double> logits = {0, ln2, 2 * ln2, 3 * ln2, 4 * ln2, 0};
  expect_shares(shares(logits, {}), {1, 2, 4, 8, 16, 1});
  expect_shares(shares(logits, {.temperature = 0.5}), {1, 4, 16, 64, 256, 1});
  expect_shares(shares(logits, {.temperature = 2}), {1, std::sqrt(2.0), 2, std::sqrt(8.0), 4, 1});
  expect_shares(shares(logits, {.top_k = 3}), {0, 0, 4, 8, 16, 0});
  expect_shares(shares(logits, {.top_k = 100}), {1, 2, 4, 8, 16, 1});
  // 16 of 32 is half: exactly enough for one half, and one more beyond it.
  expect_shares(shares(logits, {.top_p = 0.5}), {0, 0, 0, 0, 16, 0});
  expect_shares(shares(logits, {.top_p = 0.51}), {0, 0, 0, 8, 16, 0});
  expect_shares(shares(logits, {.top_p = 0.9}), {0, 2, 4, 8, 16, 0});
  // Both: the share is of what top-k has left.
  expect_shares(shares(logits, {.top_k = 2, .top_p = 0.6}), {0, 0, 0, 0, 16, 0});
}

TEST(Sample, Edges) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(sample({3}, {}, 0.999), 0);
  EXPECT_EQ(sample({1, 5, 5, 2}, {.temperature = 0}, 0), 1);  // ties go to the lower id
  EXPECT_EQ(sample({0, 0}, {}, 0), 0);
  EXPECT_EQ(sample({0, 0}, {}, 0.9999999999999999), 1);
  EXPECT_EQ(sample({-infinity, 0, -infinity}, {}, 0.9999999), 1);
  EXPECT_EQ(sample({1e300, -1e300}, {}, 0.5), 0);
  EXPECT_THROW(sample({0, std::nan("")}, {}, 0.5), NonFiniteError);
}

// -- The cache.

/// Logits behind the last token, computed anew.
std::vector<double> uncached(const Model& model, const std::vector<int32_t>& tokens) {
  const auto count = static_cast<int64_t>(tokens.size());
  Tape tape(false);
  Run run(tape);
  const Variable hidden =
      model.network->hidden(run, {to_tensor(*model.backend, {1, count}, tokens)});
  std::vector<double> all = to_doubles(model.network->logits(run, hidden).value());
  return {all.end() - static_cast<int64_t>(all.size()) / count, all.end()};
}

/// R66, R80, R161: one token at a time, and in pieces, below, at and beyond the trained length.
void expect_cached_equals_uncached(const Model& model, const SmallText& text, double tolerance) {
  const std::vector<int32_t> ids = ids_of(text, 40);
  for (const size_t prompt : {size_t(1), size_t(7), size_t(16), size_t(23)}) {
    Continuation continuation(model, 1, 40);
    auto logits = continuation.feed({{ids.begin(), ids.begin() + int64_t(prompt)}});
    for (size_t n = prompt;; ++n) {
      const std::vector<double> expected =
          uncached(model, {ids.begin(), ids.begin() + static_cast<int64_t>(n)});
      ASSERT_EQ(logits[0].size(), expected.size());
      for (size_t v = 0; v < expected.size(); ++v) {
        ASSERT_NEAR(logits[0][v], expected[v], tolerance) << "token " << n;
      }
      if (n == ids.size()) break;
      logits = continuation.feed({{ids[n]}});
    }
  }
}

class EveryMethod : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryMethod, CachedIsUncached) {
  const SmallText text("char", letters(100));
  const std::string model =
      "layers: 2, width: 16, heads: 2, context: 16, position: {kind: " + GetParam() + "}";
  expect_cached_equals_uncached(*small_model(small_experiment(model), text.tokenizer), text, 0);
  expect_cached_equals_uncached(
      *small_model(small_experiment(model, "backend: cpu"), text.tokenizer), text, 1e-5);
}

// Rows that no token will see any more make room for others, whatever the pieces.
TEST_P(EveryMethod, AWindowIsAModelsWindow) {
  const SmallText text("char", letters(400));
  const std::string base =
      "layers: 2, width: 16, heads: 2, context: 16, position: {kind: " + GetParam() + "}";
  for (const int64_t window : {1, 5, 80}) {
    const auto narrow =
        small_model(small_experiment(base + ", window: " + std::to_string(window)), text.tokenizer);
    const auto model = small_model(small_experiment(base), text.tokenizer);
    for (const size_t prompt : {size_t(1), size_t(150), size_t(330)}) {
      const std::vector<int32_t> ids = ids_of(text, 400);
      Continuation kept(*narrow, 1, 400), forgetful(*model, 1, 400, window);
      std::vector<int32_t> next(ids.begin(), ids.begin() + static_cast<int64_t>(prompt));
      for (size_t n = prompt; n < 400; ++n) {
        const auto expected = kept.feed({next}), got = forgetful.feed({next});
        for (size_t v = 0; v < expected[0].size(); ++v) {
          ASSERT_NEAR(got[0][v], expected[0][v], 1e-12) << window << " " << n;
        }
        next = {ids[n]};
      }
    }
  }
}

TEST_P(EveryMethod, SequencesOfABatchDoNotMeet) {
  const SmallText text("char", letters(100));
  const auto model = small_model(
      small_experiment(
          "layers: 2, width: 16, heads: 2, context: 16, position: {kind: " + GetParam() + "}"),
      text.tokenizer);
  const std::vector<int32_t> a(text.ids.begin(), text.ids.begin() + 6),
      b(text.ids.begin() + 40, text.ids.begin() + 46);
  Continuation both(*model, 2, 7);
  both.feed({a, b});
  const auto logits = both.feed({{3}, {5}});
  const auto expected = [&](std::vector<int32_t> tokens, int32_t next) {
    tokens.push_back(next);
    return uncached(*model, tokens);
  };
  EXPECT_EQ(logits[0], expected(a, 3));
  EXPECT_EQ(logits[1], expected(b, 5));
}

/// Hidden states of a sequence whose first `prefix` tokens see each other both ways.
std::vector<double> hidden_of(const Model& model, const std::vector<int32_t>& tokens,
                              int32_t prefix) {
  Tape tape(false);
  Run run(tape);
  const ModelInput input{
      .tokens_BT = to_tensor(*model.backend, {1, static_cast<int64_t>(tokens.size())}, tokens),
      .prefix_B = to_tensor(*model.backend, {1}, std::vector<int32_t>{prefix})};
  return to_doubles(model.network->hidden(run, input).value());
}

/// Logits behind the last token.
std::vector<double> logits_behind(const Model& model, const std::vector<int32_t>& tokens,
                                  int32_t prefix) {
  const std::vector<double> all = hidden_of(model, tokens, prefix);
  const int64_t width = model.network->options().width;
  const std::vector<double> last(all.end() - width, all.end());
  Tape tape(false);
  Run run(tape);
  const Variable row(to_tensor(*model.backend, {1, 1, width}, model.dtype, last));
  return to_doubles(model.network->logits(run, row).value());
}

/// A model that was, or could have been, trained on prefixes.
std::unique_ptr<Model> prefix_model(const SmallText& text, const std::string& position) {
  Config config = Config::parse(
      "data: {text: a.txt}\nobjective: prefix\n"
      "model: {layers: 2, width: 16, heads: 2, context: 16}\n"
      "trainer: {threads: 1, batch_tokens: 64, backend: reference, precision: f64}\n",
      "small.yaml");
  config.set("model.position.kind=" + position);
  return small_model(read_experiment(config), text.tokenizer);
}

// The prompt is the prefix; what is written behind it is not.
TEST_P(EveryMethod, APromptIsThePrefixOfModelsThatHaveOne) {
  const SmallText text("char", letters(100));
  const auto model = prefix_model(text, GetParam());
  const std::vector<int32_t> ids = ids_of(text, 30);
  for (const int32_t prompt : {1, 7, 16, 23}) {
    Continuation continuation(*model, 1, 30);
    auto logits = continuation.feed({{ids.begin(), ids.begin() + prompt}});
    for (size_t n = static_cast<size_t>(prompt);; ++n) {
      const std::vector<int32_t> so_far(ids.begin(), ids.begin() + static_cast<int64_t>(n));
      ASSERT_EQ(logits[0], logits_behind(*model, so_far, prompt)) << prompt << " of " << n;
      // Layers behind the first see what a prompt's tokens learned of those behind them.
      if (prompt > 1) {
        ASSERT_NE(logits[0], uncached(*model, so_far)) << prompt;
      }
      if (n == ids.size()) break;
      logits = continuation.feed({{ids[n]}});
    }
  }
}

TEST_P(EveryMethod, APromptIsSeenBothWaysAndWhatFollowsItByNobodyBefore) {
  constexpr int32_t kPrompt = 6, kWidth = 16;
  const SmallText text("char", letters(100));
  const auto model = prefix_model(text, GetParam());
  const std::vector<int32_t> ids = ids_of(text, 10);
  const std::vector<double> before = hidden_of(*model, ids, kPrompt);
  for (size_t changed = 0; changed < ids.size(); ++changed) {
    std::vector<int32_t> other = ids;
    other[changed] = (other[changed] + 1) % static_cast<int32_t>(text.tokenizer->vocabulary());
    const std::vector<double> after = hidden_of(*model, other, kPrompt);
    for (size_t t = 0; t < ids.size(); ++t) {
      const bool same = std::equal(before.begin() + static_cast<int64_t>(t) * kWidth,
                                   before.begin() + static_cast<int64_t>(t + 1) * kWidth,
                                   after.begin() + static_cast<int64_t>(t) * kWidth);
      EXPECT_EQ(same, changed >= kPrompt && t < changed) << changed << " seen by " << t;
    }
  }
}

// Sequences that a beam keeps go on behind their prefix.
TEST_P(EveryMethod, ChosenSequencesKeepTheirPrefix) {
  const SmallText text("char", letters(100));
  const auto model = prefix_model(text, GetParam());
  const std::vector<int32_t> ids = ids_of(text, 6);
  Continuation continuation(*model, 1, 8);
  continuation.feed({ids});
  continuation.select({0, 0, 0});
  const auto logits = continuation.feed({{1}, {2}, {3}});
  for (int32_t b = 0; b < 3; ++b) {
    std::vector<int32_t> tokens = ids;
    tokens.push_back(b + 1);
    EXPECT_EQ(logits[static_cast<size_t>(b)], logits_behind(*model, tokens, 6));
  }
}

TEST(Prefixes, NoWindowForgetsThem) {
  const SmallText text("char", letters(100));
  const auto model = prefix_model(text, "none");
  EXPECT_THROW(Continuation(*model, 1, 8, 4), ConfigError);
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const auto& method : position_methods()) names.emplace_back(method.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Positions, EveryMethod, ::testing::ValuesIn(method_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tapemeasure
