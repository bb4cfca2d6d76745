// SPDX-License-Identifier: MIT
// Masking: how much, where, what with; and windows that are the same for every evaluation.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "tests/data/objective_fixture.h"

namespace tapemeasure::testing {
namespace {

constexpr int64_t kVocabulary = 50, kContext = 64;

ObjectiveSetting setting(uint64_t seed = 1) {
  return {.reader = Reader::kEncoder,
          .context = kContext,
          .batch_tokens = 32 * kContext,
          .vocabulary = kVocabulary,
          .seed = seed};
}

/// Counts over many batches.
struct Counts {
  int64_t tokens = 0, masked = 0, hidden = 0, same = 0, other = 0;
  std::vector<int64_t> by_position = std::vector<int64_t>(kContext);
};

Counts count(const BatchSource& source, int64_t steps) {
  Counts counts;
  for (int64_t step = 0; step < steps; ++step) {
    const Batch batch = batch_at(source, step);
    for (int64_t s = 0; s < batch.tokens_BT.shape()[0]; ++s) {
      const auto tokens = row_of(batch.tokens_BT, s), targets = row_of(batch.targets_BT, s);
      int64_t masked = 0;
      for (size_t t = 0; t < tokens.size(); ++t) {
        ++counts.tokens;
        if (targets[t] < 0) {
          EXPECT_LT(tokens[t], kVocabulary);
          continue;
        }
        ++masked;
        ++counts.by_position[t];
        ++(tokens[t] == kVocabulary  ? counts.hidden
           : tokens[t] == targets[t] ? counts.same
                                     : counts.other);
      }
      EXPECT_EQ(masked, 10);  // round(0.15 * 64)
      counts.masked += masked;
    }
    EXPECT_EQ(batch.scored, 10 * batch.tokens_BT.shape()[0]);
  }
  return counts;
}

/// A share within five standard deviations.
void expect_share(int64_t hits, int64_t of, double share) {
  const double deviation = std::sqrt(share * (1 - share) / static_cast<double>(of));
  EXPECT_NEAR(static_cast<double>(hits) / static_cast<double>(of), share, 5 * deviation);
}

// The released DeBERTa generator never masks the end of a long window: here every position has the
// same chance.
TEST(Masked, StatisticsOverManyTokens) {
  const RandomText text(20000, kVocabulary);
  const auto options = objective("kind: masked");
  const Counts counts = count(*options->training(text.part, setting()), 60);
  ASSERT_GT(counts.tokens, 100000);
  expect_share(counts.hidden, counts.masked, 0.8);
  // One in 50 random tokens is the one that was there.
  expect_share(counts.same, counts.masked, 0.1 + 0.1 / kVocabulary);
  expect_share(counts.other, counts.masked, 0.1 - 0.1 / kVocabulary);
  const int64_t windows = counts.tokens / kContext;
  for (const int64_t hits : counts.by_position) expect_share(hits, windows, 10.0 / kContext);
}

TEST(Masked, TargetsAreTheTokensThatWereThere) {
  const RandomText text(20000, kVocabulary);
  const auto options = objective("kind: masked");
  const auto source = options->evaluation(text.part, setting(), std::nullopt);
  ASSERT_EQ(source->batches(), 10);  // 312 windows by 32
  int64_t windows = 0;
  for (int64_t step = 0; step < source->batches(); ++step) {
    const Batch batch = batch_at(*source, step);
    for (int64_t s = 0; s < batch.tokens_BT.shape()[0]; ++s, ++windows) {
      const auto tokens = row_of(batch.tokens_BT, s), targets = row_of(batch.targets_BT, s);
      for (int64_t t = 0; t < kContext; ++t) {
        const auto i = static_cast<size_t>(t);
        const auto there = static_cast<int32_t>(text.ids[size_t(windows * kContext + t)]);
        EXPECT_EQ(targets[i] < 0 ? tokens[i] : targets[i], there);
      }
    }
  }
  EXPECT_EQ(windows, 312);
}

TEST(Masked, TrainingIsAFunctionOfSeedAndStep) {
  const RandomText text(5000, kVocabulary);
  const auto options = objective("kind: masked");
  const auto one = options->training(text.part, setting()),
             two = options->training(text.part, setting());
  const auto other = options->training(text.part, setting(2));
  batch_at(*two, 40);
  for (const int64_t step : {int64_t{17}, int64_t{0}, int64_t{5}}) {
    EXPECT_EQ(numbers_of(batch_at(*one, step)), numbers_of(batch_at(*two, step)));
    EXPECT_NE(numbers_of(batch_at(*one, step)), numbers_of(batch_at(*other, step)));
  }
  // A second epoch masks anew: no two windows of a run share their draws.
  EXPECT_NE(numbers_of(batch_at(*one, 0)), numbers_of(batch_at(*one, 1)));
}

TEST(Masked, EvaluationsDependOnTheirOwnSeedOnly) {
  const RandomText text(5000, kVocabulary);
  const auto options = objective("kind: masked"),
             other = objective("kind: masked, evaluation_seed: 2");
  const auto one = options->evaluation(text.part, setting(1), std::nullopt);
  const auto two = options->evaluation(text.part, setting(2), std::nullopt);
  const auto three = other->evaluation(text.part, setting(1), std::nullopt);
  EXPECT_EQ(numbers_of(batch_at(*one, 1)), numbers_of(batch_at(*two, 1)));
  EXPECT_NE(numbers_of(batch_at(*one, 1)), numbers_of(batch_at(*three, 1)));
  // How many go together changes nothing but the batches.
  ObjectiveSetting single = setting();
  single.batch_tokens = kContext;
  const auto alone = options->evaluation(text.part, single, std::nullopt);
  EXPECT_EQ(row_of(batch_at(*alone, 33).tokens_BT, 0), row_of(batch_at(*one, 1).tokens_BT, 1));
}

// R144. A batch is a value: a later one does not change it, unless it is filled into it.
TEST(Masked, LaterBatchesLeaveEarlierOnesAlone) {
  const RandomText text(5000, kVocabulary);
  const auto options = objective("kind: masked");
  const auto source = options->training(text.part, setting());
  Batch first = batch_at(*source, 0);
  const std::vector<int32_t> numbers = numbers_of(first);
  const Batch second = batch_at(*source, 1);
  EXPECT_EQ(numbers_of(first), numbers);
  source->at(1, test_backend(), first);
  EXPECT_EQ(numbers_of(first), numbers_of(second));
}

TEST(Masked, EdgesAndRefusals) {
  const RandomText text(100, kVocabulary);
  ObjectiveSetting tiny = setting();
  tiny.context = 1;
  tiny.batch_tokens = 1;
  const auto never = objective("kind: masked, share: 0");
  EXPECT_EQ(batch_at(*never->training(text.part, tiny), 0).scored, 1);  // at least one
  const auto all = objective("kind: masked, share: 1");
  EXPECT_EQ(batch_at(*all->training(text.part, setting()), 0).scored, 32 * kContext);
  EXPECT_EQ(all->evaluation(RandomText(63, kVocabulary).part, setting(), std::nullopt)->batches(),
            0);
  EXPECT_EQ(all->evaluation(text.part, setting(), 25)->batches(), 1);
  EXPECT_EQ(batch_at(*all->evaluation(text.part, setting(), 25), 0).tokens_BT.shape(),
            Shape({4, 25}));
  EXPECT_THROW(objective("kind: masked, mask: 0.8, random: 0.3")->validate(setting()), ConfigError);
  EXPECT_THROW(all->training(RandomText(64, kVocabulary).part, setting()), DataError);
  EXPECT_NE(all->refuses(Reader::kDecoder), "");
  EXPECT_EQ(all->refuses(Reader::kEncoder), "");
}

}  // namespace
}  // namespace tapemeasure::testing
