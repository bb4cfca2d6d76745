// SPDX-License-Identifier: MIT
// Span corruption and prefixes.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "tests/data/objective_fixture.h"

namespace tapemeasure::testing {
namespace {

constexpr int64_t kVocabulary = 256;

ObjectiveSetting setting(int64_t context, Reader reader = Reader::kEncoderDecoder) {
  return {.reader = reader,
          .context = context,
          .batch_tokens = 8 * context,
          .vocabulary = kVocabulary,
          .seed = 5};
}

/// The window that source and target came from, and the lengths of its hidden spans.
std::vector<int32_t> recover(std::vector<int32_t> source, std::vector<int32_t> target, int32_t end,
                             std::vector<int64_t>& spans) {
  EXPECT_EQ(source.back(), end);
  EXPECT_EQ(target.back(), end);
  source.pop_back();
  target.pop_back();
  std::vector<int32_t> window;
  size_t at = 0;
  int32_t sentinel = kVocabulary;
  for (const int32_t token : source) {
    if (token < kVocabulary) {
      window.push_back(token);
      continue;
    }
    EXPECT_EQ(token, sentinel);  // in order
    EXPECT_EQ(target.at(at++), sentinel++);
    spans.push_back(0);
    for (; at < target.size() && target[at] < kVocabulary; ++at, ++spans.back()) {
      window.push_back(target[at]);
    }
  }
  EXPECT_EQ(at, target.size());
  return window;
}

// The numbers of T5's own helper for inputs of 512 tokens: 568 tokens, 114 of target; of 64: 70.
TEST(SpanCorruption, LengthsAreT5s) {
  const RandomText text(4000, kVocabulary);
  const auto options = objective("kind: span_corruption");
  const Batch large = batch_at(*options->training(text.part, setting(512)), 0);
  EXPECT_EQ(large.source_BS.shape(), Shape({8, 512}));
  EXPECT_EQ(large.targets_BT.shape(), Shape({8, 114}));
  EXPECT_EQ(options->specials(setting(512)).count(), 28 + 2);
  EXPECT_EQ(options->specials(setting(512)).predicted, 28 + 1);
}

TEST(SpanCorruption, SourceAndTargetGiveBackEveryToken) {
  const RandomText text(5000, kVocabulary);
  for (const char* keys :
       {"share: 0.15", "share: 0.5, mean_span: 1", "share: 0.3, mean_span: 20"}) {
    const auto options = objective("kind: span_corruption, " + std::string(keys));
    for (const int64_t context : {4, 9, 64}) {
      const ObjectiveSetting here = setting(context);
      const auto end = static_cast<int32_t>(kVocabulary + options->specials(here).predicted - 1);
      const auto source = options->evaluation(text.part, here, std::nullopt);
      std::vector<int32_t> all;
      std::vector<int64_t> spans;
      for (int64_t step = 0; step < source->batches(); ++step) {
        const Batch batch = batch_at(*source, step);
        for (int64_t s = 0; s < batch.tokens_BT.shape()[0]; ++s) {
          const auto target = row_of(batch.targets_BT, s), input = row_of(batch.tokens_BT, s);
          const auto window = recover(row_of(batch.source_BS, s), target, end, spans);
          all.insert(all.end(), window.begin(), window.end());
          EXPECT_EQ(input[0], end + 1);
          EXPECT_TRUE(std::equal(target.begin(), target.end() - 1, input.begin() + 1));
          EXPECT_EQ(batch.source_lengths_B.data<int32_t>()[s], batch.source_BS.shape()[1]);
        }
        EXPECT_LE(batch.source_BS.shape()[1], context);
        EXPECT_LE(batch.tokens_BT.shape()[1], context);
      }
      ASSERT_GT(all.size(), 4900u);
      for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], int32_t(text.ids[i])) << keys;
      EXPECT_TRUE(std::all_of(spans.begin(), spans.end(), [](int64_t n) { return n > 0; }));
    }
  }
}

// random_spans_noise_mask: all ways to cut the hidden tokens into spans are equally likely.
TEST(SpanCorruption, SegmentsAreUniform) {
  const RandomText text(20000, kVocabulary);
  const auto options = objective("kind: span_corruption, share: 0.3, mean_span: 2");
  const ObjectiveSetting here = setting(16);
  const auto end = static_cast<int32_t>(kVocabulary + options->specials(here).predicted - 1);
  const auto source = options->training(text.part, here);
  std::map<std::vector<int64_t>, int64_t> seen;
  int64_t windows = 0;
  for (int64_t step = 0; step < 1000; ++step) {
    const Batch batch = batch_at(*source, step);
    for (int64_t s = 0; s < 8; ++s, ++windows) {
      std::vector<int64_t> spans;
      recover(row_of(batch.source_BS, s), row_of(batch.targets_BT, s), end, spans);
      ++seen[spans];
    }
  }
  // 17 tokens, of which 5 are hidden in 2 spans: 4 ways.
  ASSERT_EQ(seen.size(), 4u);
  const double expected = static_cast<double>(windows) / static_cast<double>(seen.size());
  double chi_square = 0;
  for (const auto& [spans, count] : seen) {
    chi_square += (double(count) - expected) * (double(count) - expected) / expected;
  }
  EXPECT_LT(chi_square, 22);  // 3 degrees of freedom: p = 6e-5
}

TEST(SpanCorruption, RefusesWhatItCannotMark) {
  const RandomText text(4000, kVocabulary);
  const auto options = objective("kind: span_corruption");
  EXPECT_THROW(options->evaluation(text.part, setting(64), 512), ConfigError);
  EXPECT_NO_THROW(options->evaluation(text.part, setting(512), 64));
  EXPECT_THROW(options->validate(setting(3)), ConfigError);
  EXPECT_NE(options->refuses(Reader::kDecoder), "");
}

TEST(Prefix, OnlyWhatFollowsIsScored) {
  const RandomText text(5000, kVocabulary);
  const auto options = objective("kind: prefix");
  const auto source = options->training(text.part, setting(16, Reader::kDecoder));
  std::vector<int64_t> lengths(16);
  for (int64_t step = 0; step < 200; ++step) {
    const Batch batch = batch_at(*source, step);
    int64_t scored = 0;
    for (int64_t s = 0; s < 8; ++s) {
      const auto tokens = row_of(batch.tokens_BT, s), targets = row_of(batch.targets_BT, s);
      const auto prefix = static_cast<size_t>(batch.prefix_B.data<int32_t>()[s]);
      ASSERT_TRUE(prefix >= 1 && prefix <= 15);
      ++lengths[prefix];
      for (size_t t = 0; t < 16; ++t) {
        EXPECT_EQ(targets[t] >= 0, t + 1 >= prefix);
        if (t + 1 >= prefix && t + 1 < 16) {
          EXPECT_EQ(targets[t], tokens[t + 1]);
        }
        scored += targets[t] >= 0;
      }
    }
    EXPECT_EQ(batch.scored, scored);
  }
  // Uniform over 1 ... 15: about 107 each.
  for (size_t prefix = 1; prefix < 16; ++prefix) EXPECT_NEAR(double(lengths[prefix]), 106.7, 52);
}

TEST(Causal, SecondHalfScoresWhatHasHalfAWindowBefore) {
  const RandomText text(500, kVocabulary);
  const auto all = objective("kind: causal"), half = objective("kind: causal, score: second_half");
  for (const int64_t context : {1, 8, 9}) {
    for (const DataOrder order : {DataOrder::kShuffled, DataOrder::kLanes}) {
      ObjectiveSetting here = setting(context, Reader::kDecoder);
      here.order = order;
      const Batch whole = batch_at(*all->training(text.part, here), 3);
      const Batch part = batch_at(*half->training(text.part, here), 3);
      EXPECT_EQ(part.scored, 8 * (context - context / 2));
      EXPECT_EQ(whole.scored, 8 * context);
      for (int64_t s = 0; s < 8; ++s) {
        EXPECT_EQ(row_of(part.tokens_BT, s), row_of(whole.tokens_BT, s));
        std::vector<int32_t> wanted = row_of(whole.targets_BT, s);
        std::fill_n(wanted.begin(), context / 2, -1);
        EXPECT_EQ(row_of(part.targets_BT, s), wanted);
      }
    }
  }
}

}  // namespace
}  // namespace tapemeasure::testing
