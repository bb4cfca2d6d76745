// SPDX-License-Identifier: MIT
// Evaluation behind a memory, and loss by position.
#include <gtest/gtest.h>

#include <numeric>

#include "app/evaluator.h"
#include "core/error.h"
#include "core/host.h"
#include "layers/language_model.h"
#include "tests/cli/small_model.h"

namespace tapemeasure {
namespace {

using testing::letters;
using testing::small_experiment;
using testing::small_model;
using testing::SmallText;

std::unique_ptr<Model> model_with(const SmallText& text, const std::string& position,
                                  const std::string& more = "layers: 2") {
  return small_model(
      small_experiment(more + ", width: 8, heads: 2, context: 16, position: {" + position + "}"),
      text.tokenizer);
}

const std::vector<std::string> kRelative = {"kind: none",
                                            "kind: shaw, max_distance: 5",
                                            "kind: transformer_xl",
                                            "kind: t5",
                                            "kind: deberta",
                                            "kind: alibi",
                                            "kind: rope"};

struct Losses {
  std::vector<double> losses;
  std::vector<int64_t> before;
  Evaluation result;

  Losses(const Model& model, const SmallText& text, const Protocol& protocol)
      : result(evaluate(model, text.text, protocol, 64, [&](double loss, int64_t tokens) {
          losses.push_back(loss);
          before.push_back(tokens);
        })) {}
};

TEST(MemoryProtocol, WithoutLimitIsTheWholeTextAtOnce) {
  const SmallText text("char", letters(50));
  for (const std::string& position : kRelative) {
    const auto model = model_with(text, position);
    const Losses whole(*model, text, {64}), segments(*model, text, {7, 0, 64});
    ASSERT_EQ(segments.losses.size(), 49u);
    EXPECT_EQ(segments.before, whole.before);
    for (size_t t = 0; t < 49; ++t) {
      EXPECT_NEAR(segments.losses[t], whole.losses[t], 1e-11) << position << " " << t;
    }
  }
}

TEST(MemoryProtocol, OfLengthZeroIsNonoverlap) {
  const SmallText text("char", letters(50));
  const auto model = model_with(text, "kind: rope");
  const Losses none(*model, text, {7}), zero(*model, text, {7, 0, 0});
  EXPECT_EQ(zero.losses, none.losses);
  EXPECT_EQ(zero.before, none.before);
  EXPECT_EQ(zero.result.protocol.name(), "memory:0");
}

// What one layer remembers are tokens, so that a target sees exactly the last ones.
TEST(MemoryProtocol, OneLayerSeesTheLastTokens) {
  const SmallText text("char", letters(40));
  for (const std::string& position : kRelative) {
    const auto model = model_with(text, position, "layers: 1");
    const Losses segments(*model, text, {4, 0, 6});
    for (int64_t t = 1; t < 40; ++t) {
      const int64_t start = (t - 1) / 4 * 4, seen = t - start + std::min<int64_t>(6, start);
      ASSERT_EQ(segments.before[size_t(t) - 1], seen);
      std::vector<uint32_t> ids(text.ids.begin() + (t - seen), text.ids.begin() + t + 1);
      EvaluationText part = text.text;
      part.tokens = TokenSpan(ids.data(), 4, seen + 1, text.tokenizer->vocabulary());
      double last = 0;
      evaluate(*model, part, {64}, 64, [&](double loss, int64_t) { last = loss; });
      EXPECT_NEAR(segments.losses[size_t(t) - 1], last, 1e-11) << position << " " << t;
    }
  }
}

TEST(MemoryProtocol, RefusesWhatCannotRemember) {
  const SmallText text("char", letters(40));
  for (const char* position :
       {"kind: learned", "kind: sinusoidal", "kind: alibi, absolute: sinusoidal",
        "kind: rope, scaling: {kind: dynamic_ntk}"}) {
    const auto model = model_with(text, position);
    EXPECT_NO_THROW(evaluate(*model, text.text, {8, 0, 0}, 64)) << position;
    try {
      evaluate(*model, text.text, {8, 0, 8}, 64);
      FAIL() << position;
    } catch (const ConfigError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("--protocol memory:8 does not go with model.position.kind "),
                std::string::npos)
          << message;
      EXPECT_NE(message.find(model->network->options().position.options->refuses_memory()),
                std::string::npos)
          << message;
    }
  }
}

TEST(MemoryProtocol, IsTheDefaultOfModelsThatHaveOne) {
  ModelOptions model;
  EXPECT_EQ(Protocol::of(model, 16).name(), "nonoverlap");
  model.memory = 24;
  EXPECT_EQ(Protocol::of(model, 16).name(), "memory:24");
  EXPECT_EQ(Protocol::of(model, 16).length, 16);
  EXPECT_EQ(Protocol::parse("memory:24", 16).memory, 24);
  for (const char* wrong : {"memory", "memory:", "memory:-1", "memory:x", "memory:99999999999"}) {
    EXPECT_THROW(Protocol::parse(wrong, 16), ConfigError) << wrong;
  }
}

void expect_bucket(const PositionLoss& got, int64_t first, int64_t last, int64_t tokens) {
  EXPECT_EQ(got.first, first);
  EXPECT_EQ(got.last, last);
  EXPECT_EQ(got.tokens, tokens) << first;
}

// 100 tokens, 99 targets.
TEST(PositionLosses, AreCountedByHand) {
  const SmallText text("char", letters(100));
  const auto model = model_with(text, "kind: alibi");
  const auto buckets = [&](const Protocol& protocol) {
    return evaluate(*model, text.text, protocol, 64).positions;
  };
  // Windows of 40, 40 and 19.
  const auto side_by_side = buckets({40});
  ASSERT_EQ(side_by_side.size(), 3u);
  expect_bucket(side_by_side[0], 0, 15, 48);
  expect_bucket(side_by_side[1], 16, 31, 16 + 16 + 3);
  expect_bucket(side_by_side[2], 32, 39, 16);
  // Behind the first window five score their last 10, one its last 9.
  const auto sliding = buckets({40, 10});
  expect_bucket(sliding[0], 0, 15, 16);
  expect_bucket(sliding[1], 16, 31, 16 + 5 * 2 + 1);
  expect_bucket(sliding[2], 32, 39, 8 + 6 * 8);
  const auto remembering = buckets({40, 0, 8});
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(remembering[i].tokens, side_by_side[i].tokens);
  // No window is longer than the text.
  const auto whole = buckets({512});
  ASSERT_EQ(whole.size(), 4u);
  expect_bucket(whole[3], 64, 98, 35);
}

TEST(PositionLosses, SumToTheWhole) {
  const SmallText text("char", letters(100));
  const auto model = model_with(text, "kind: rope");
  const Losses all(*model, text, {40});
  double sum = 0;
  for (const PositionLoss& at : all.result.positions) sum += at.nats;
  EXPECT_NEAR(sum, all.result.nats, 1e-10);
  // Each target by the tokens before it.
  double late = 0;
  for (size_t t = 0; t < all.losses.size(); ++t) {
    if (all.before[t] > 32) late += all.losses[t];
  }
  EXPECT_NEAR(all.result.positions[2].nats, late, 1e-11);
  EXPECT_NEAR(all.result.positions[2].loss(), late / 16, 1e-11);
}

}  // namespace
}  // namespace tapemeasure
