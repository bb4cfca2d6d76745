// SPDX-License-Identifier: MIT
// Evaluation: every target once, in a fixed order, with denominators that say of what.
#include "app/evaluator.h"

#include <gtest/gtest.h>

#include <numbers>

#include "core/error.h"
#include "core/host.h"
#include "layers/language_model.h"
#include "tests/cli/small_model.h"

namespace tapemeasure {
namespace {

using testing::constant_model;
using testing::letters;
using testing::small_experiment;
using testing::small_model;
using testing::SmallText;

constexpr const char* kSmall = "layers: 2, width: 8, heads: 2, context: 16, position: {kind: none}";

// R45: six tokens, logits a: 0, b: 1, c: -2, whatever was read.
TEST(Evaluator, LossesByHand) {
  const SmallText text("char", "abacab");
  const auto model = constant_model(text.tokenizer, {0, 1, -2});
  const Evaluation result = evaluate(*model, text.text, {4, 0}, 64);
  const double log_sum = std::log(std::exp(0.0) + std::exp(1.0) + std::exp(-2.0));
  // Targets b a c a b.
  const double nats = 5 * log_sum - (1 + 0 - 2 + 0 + 1);
  EXPECT_NEAR(result.nats, nats, 1e-9);
  EXPECT_EQ(result.tokens, 5);
  EXPECT_EQ(result.characters, 5);
  EXPECT_EQ(result.bytes, 5);
  EXPECT_EQ(result.words, 1);
  EXPECT_NEAR(result.loss(), nats / 5, 1e-9);
  EXPECT_NEAR(result.bits_per_token(), nats / 5 / std::log(2.0), 1e-9);
  EXPECT_NEAR(result.bits_per_character(), nats / 5 / std::log(2.0), 1e-9);
  EXPECT_NEAR(result.bits_per_byte(), nats / 5 / std::log(2.0), 1e-9);
  EXPECT_NEAR(result.bits_per_word(), nats / std::log(2.0), 1e-9);
  EXPECT_NEAR(result.word_perplexity(), std::exp(nats), 1e-9 * std::exp(nats));
}

// R56.
TEST(Evaluator, PerplexityIsOfTheLoss) {
  const SmallText text("char", letters(200));
  const auto model = small_model(small_experiment(kSmall), text.tokenizer);
  const Evaluation result = evaluate(*model, text.text, {16, 0}, 64);
  EXPECT_NEAR(result.perplexity(), std::exp(result.nats / 199), 1e-12 * result.perplexity());
  EXPECT_NEAR(result.perplexity(), std::exp2(result.bits_per_token()), 1e-12 * result.perplexity());
}

// R47: two bytes a character.
TEST(Evaluator, BitsPerCharacterAreNotBitsPerByte) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += "\xC4\x85";
  const SmallText text("char", bytes);
  const auto model = constant_model(text.tokenizer, {0});
  Evaluation result = evaluate(*model, text.text, {4, 0}, 64);
  EXPECT_EQ(result.characters, 999);
  EXPECT_EQ(result.bytes, 1998);
  result.nats = 1000;  // one kind of token costs nothing
  EXPECT_DOUBLE_EQ(result.bits_per_character(), 2 * result.bits_per_byte());
}

struct Counted {
  const char* tokenizer;
  std::string text;
  int64_t tokens, characters, words, bytes;
};

// R62: what the first token holds whole is not counted, as it is never a target.
TEST(Evaluator, OnlyWhatWasScoredIsCounted) {
  const std::vector<Counted> cases = {
      {"byte", "ab cd", 4, 4, 2, 4},             // "a" is given, "b" of the same word is scored
      {"byte", "a bc", 3, 3, 1, 3},              // the word "a" is not scored
      {"byte", " ab", 2, 2, 1, 2},               //
      {"byte", "a ", 1, 1, 0, 1},                // no word at all
      {"byte", "\xC4\x85 b", 3, 3, 2, 3},        // half of the first character is scored
      {"byte", "\xF0\x9F\x98\x80", 3, 1, 1, 3},  //
      {"byte", "\xFF\xFF", 1, 1, 1, 1},          // not UTF-8: a byte counts as one
      {"char", "\xC4\x85 b", 2, 2, 1, 2},        //
      {"char", "\xC4\x85\xC4\x85 b", 3, 3, 2, 4}};
  for (const Counted& c : cases) {
    const SmallText text(c.tokenizer, c.text);
    const auto model = constant_model(
        text.tokenizer, std::vector<double>(size_t(text.tokenizer->vocabulary()), 0.0));
    const Evaluation result = evaluate(*model, text.text, {4, 0}, 64);
    EXPECT_EQ(result.tokens, c.tokens) << c.text;
    EXPECT_EQ(result.characters, c.characters) << c.text;
    EXPECT_EQ(result.words, c.words) << c.text;
    EXPECT_EQ(result.bytes, c.bytes) << c.text;
  }
}

void expect_windows(const Protocol& protocol, const std::vector<Window>& expected) {
  const std::vector<Window> windows = windows_of(protocol, 50);
  ASSERT_EQ(windows.size(), expected.size()) << protocol.name();
  for (size_t i = 0; i < windows.size(); ++i) {
    EXPECT_EQ(windows[i].start, expected[i].start) << i;
    EXPECT_EQ(windows[i].length, expected[i].length) << i;
    EXPECT_EQ(windows[i].score_from, expected[i].score_from) << i;
  }
}

// R49: 50 tokens by hand, windows of 16.
TEST(Evaluator, WindowsByHand) {
  expect_windows({16, 0}, {{0, 16, 0}, {16, 16, 16}, {32, 16, 32}, {48, 1, 48}});
  expect_windows({16, 16}, {{0, 16, 0}, {16, 16, 16}, {32, 16, 32}, {33, 16, 48}});
  expect_windows({16, 7},
                 {{0, 16, 0}, {7, 16, 16}, {14, 16, 23}, {21, 16, 30}, {28, 16, 37}, {33, 16, 44}});
  std::vector<Window> each = {{0, 16, 0}};
  for (int64_t end = 17; end <= 49; ++end) each.push_back({end - 16, 16, end - 1});
  expect_windows({16, 1}, each);
  expect_windows({100, 0}, {{0, 49, 0}});
  expect_windows({100, 3}, {{0, 49, 0}});
}

TEST(Evaluator, EveryTargetIsScoredOnce) {
  uint64_t state = 7;
  const auto draw = [&](int64_t low, int64_t high) {
    state = state * 6364136223846793005u + 1;
    return low + static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(high - low + 1));
  };
  for (int repeat = 0; repeat < 2000; ++repeat) {
    const int64_t tokens = draw(2, 90), length = draw(1, 40), stride = draw(0, length);
    std::vector<int> scored(static_cast<size_t>(tokens), 0);
    for (const Window& w : windows_of({length, stride}, tokens)) {
      ASSERT_GE(w.start, 0);
      ASSERT_LE(w.length, length);
      ASSERT_LE(w.start + w.length + 1, tokens);
      ASSERT_GE(w.score_from, w.start);
      for (int64_t t = w.score_from; t < w.start + w.length; ++t) ++scored[size_t(t) + 1];
      // All but the first window's targets have context.
      if (stride > 0 && w.start > 0) {
        ASSERT_GE(w.score_from - w.start, length - stride);
      }
    }
    ASSERT_EQ(scored[0], 0);
    for (size_t t = 1; t < scored.size(); ++t) ASSERT_EQ(scored[t], 1) << t;
  }
}

TEST(Evaluator, ProtocolsReadBack) {
  for (const char* name : {"nonoverlap", "sliding:stride=1", "sliding:stride=64"}) {
    EXPECT_EQ(Protocol::parse(name, 64).name(), name);
  }
  for (const char* wrong : {"", "sliding", "sliding:stride=0", "sliding:stride=-1",
                            "sliding:stride=65", "sliding:stride=1.5", "sliding:stride=", "Sliding",
                            "nonoverlap ", "sliding:stride=99999999999999999999"}) {
    EXPECT_THROW(Protocol::parse(wrong, 64), ConfigError) << wrong;
  }
}

/// Loss of the last target of tokens [start, start + length], computed from plain logits.
double loss_of_last(const Model& model, const SmallText& text, int64_t start, int64_t length) {
  std::vector<int32_t> tokens(static_cast<size_t>(length) + 1);
  text.text.tokens.copy(start, length + 1, tokens.data());
  const int32_t target = tokens.back();
  tokens.pop_back();
  Tape tape(false);
  Run run(tape);
  const Variable hidden =
      model.network->hidden(run, {to_tensor(*model.backend, {1, length}, tokens)});
  const std::vector<double> logits = to_doubles(model.network->logits(run, hidden).value());
  const size_t vocabulary = logits.size() / static_cast<size_t>(length);
  const double* last = logits.data() + logits.size() - vocabulary;
  double sum = 0;
  for (size_t v = 0; v < vocabulary; ++v) sum += std::exp(last[v] - last[target]);
  return std::log(sum);
}

// R49.
TEST(Evaluator, StrideOneEqualsSingleWindows) {
  const SmallText text("char", letters(50));
  for (const char* position : {"none", "learned", "sinusoidal"}) {
    const auto model = small_model(
        small_experiment("layers: 2, width: 8, heads: 2, context: 16, position: {kind: " +
                         std::string(position) + "}"),
        text.tokenizer);
    std::vector<double> losses;
    std::vector<int64_t> before;
    const Evaluation result =
        evaluate(*model, text.text, {16, 1}, 48, [&](double loss, int64_t tokens) {
          losses.push_back(loss);
          before.push_back(tokens);
        });
    ASSERT_EQ(losses.size(), 49u);
    double total = 0;
    for (int64_t t = 1; t < 50; ++t) {
      const int64_t length = std::min<int64_t>(16, t);
      EXPECT_EQ(before[size_t(t) - 1], length);
      EXPECT_NEAR(losses[size_t(t) - 1], loss_of_last(*model, text, t - length, length), 1e-9) << t;
      total += losses[size_t(t) - 1];
    }
    EXPECT_DOUBLE_EQ(result.nats, total);
  }
}

TEST(Evaluator, BeforeCountsTheTokensOfTheWindow) {
  const SmallText text("char", letters(12));
  const auto model = small_model(small_experiment(kSmall), text.tokenizer);
  const auto before = [&](const Protocol& protocol) {
    std::vector<int64_t> all;
    evaluate(*model, text.text, protocol, 48, [&](double, int64_t n) { all.push_back(n); });
    return all;
  };
  EXPECT_EQ(before({4, 0}), (std::vector<int64_t>{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3}));
  EXPECT_EQ(before({4, 2}), (std::vector<int64_t>{1, 2, 3, 4, 3, 4, 3, 4, 3, 4, 4}));
}

// R57.
TEST(Evaluator, TwiceTheSameAndAlmostSoInOtherBatches) {
  const SmallText text("char", letters(600));
  for (const char* backend : {"backend: reference, precision: f64", "backend: cpu"}) {
    const auto model = small_model(small_experiment(kSmall, backend), text.tokenizer);
    const double once = evaluate(*model, text.text, {16, 0}, 64).nats;
    EXPECT_EQ(evaluate(*model, text.text, {16, 0}, 64).nats, once);
    for (const int64_t batch_tokens : {1, 16, 160, 100000}) {
      EXPECT_NEAR(evaluate(*model, text.text, {16, 0}, batch_tokens).nats, once, 1e-6 * once)
          << batch_tokens;
    }
  }
}

// R61.
TEST(Evaluator, MemoryDoesNotGrowWithTheText) {
  const SmallText small("char", letters(2000)), large(small.tokenizer, letters(20000));
  const auto model = small_model(small_experiment(kSmall, "backend: cpu"), small.tokenizer);
  const auto peak = [&](const SmallText& text) {
    model->backend->reset_peak();
    evaluate(*model, text.text, {16, 0}, 128);
    return model->backend->peak_bytes();
  };
  EXPECT_EQ(peak(large), peak(small));
}

TEST(Evaluator, WindowsBeyondALearnedTableAreRefused) {
  const SmallText text("char", letters(100));
  const auto model = small_model(
      small_experiment("layers: 1, width: 8, heads: 2, context: 16, position: {kind: learned}"),
      text.tokenizer);
  EXPECT_NO_THROW(evaluate(*model, text.text, {16, 0}, 64));
  try {
    evaluate(*model, text.text, {17, 0}, 64);
    FAIL();
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("length 17 "), std::string::npos) << message;
    EXPECT_NE(message.find(" 16 positions"), std::string::npos) << message;
  }
  const auto sinusoidal = small_model(
      small_experiment("layers: 1, width: 8, heads: 2, context: 16, position: {kind: sinusoidal}"),
      text.tokenizer);
  EXPECT_NO_THROW(evaluate(*sinusoidal, text.text, {64, 0}, 64));
}

TEST(Evaluator, TooShortTextsAreRefused) {
  const SmallText one("byte", "x"), none("byte", "");
  const auto model = small_model(small_experiment(kSmall), one.tokenizer);
  EXPECT_THROW(evaluate(*model, one.text, {16, 0}, 64), DataError);
  EXPECT_THROW(evaluate(*model, none.text, {16, 0}, 64), DataError);
  const SmallText two("byte", "xy");
  EXPECT_EQ(evaluate(*model, two.text, {16, 0}, 64).tokens, 1);
}

void compute_gradients(Model& model, const SmallText& text) {
  Tape tape;
  Run run(tape, true);
  std::vector<int32_t> ids(text.ids.begin(), text.ids.begin() + 17);
  const Tensor tokens = to_tensor(*model.backend, {1, 16}, std::span(ids).first(16));
  const Tensor targets = to_tensor(*model.backend, {1, 16}, std::span(ids).subspan(1));
  model.store.clear_gradients();
  tape.backward(model.network->loss(run, model.network->hidden(run, {tokens}), targets, {}).loss);
  model.store.complete_gradients();
}

// R140: rows of the vocabulary that no token has change neither losses nor gradients.
TEST(Evaluator, PaddedVocabulariesCostNothing) {
  const SmallText text("char", letters(200));
  ASSERT_EQ(text.tokenizer->vocabulary(), 10);
  for (const char* head : {"tied_head: true", "tied_head: false, head_bias: true"}) {
    const std::string base = std::string(kSmall) + ", " + head;
    const auto plain = small_model(small_experiment(base), text.tokenizer);
    const auto padded = small_model(small_experiment(base + ", vocabulary: 16"), text.tokenizer);
    for (Parameter& parameter : plain->store.all()) {
      std::copy_n(parameter.value.data<double>(), parameter.value.count(),
                  padded->store.find(parameter.name)->value.data<double>());
    }
    EXPECT_EQ(evaluate(*plain, text.text, {16, 0}, 64).nats,
              evaluate(*padded, text.text, {16, 0}, 64).nats);
    compute_gradients(*plain, text);
    compute_gradients(*padded, text);
    for (Parameter& parameter : plain->store.all()) {
      const std::vector<double> expected = to_doubles(parameter.gradient);
      std::vector<double> got = to_doubles(padded->store.find(parameter.name)->gradient);
      for (size_t i = expected.size(); i < got.size(); ++i) EXPECT_EQ(got[i], 0);
      got.resize(expected.size());
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_NEAR(got[i], expected[i], 1e-12) << parameter.name;
      }
    }
  }
}

}  // namespace
}  // namespace tapemeasure
