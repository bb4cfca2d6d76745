// SPDX-License-Identifier: MIT
// Batches are a pure function of (tokens, seed, step).
#include "data/batcher.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/backend.h"
#include "core/error.h"

namespace tapemeasure {
namespace {

constexpr int64_t kVocabulary = 1 << 30;

std::vector<uint32_t> counting(int64_t size) {
  std::vector<uint32_t> tokens(static_cast<size_t>(size));
  std::iota(tokens.begin(), tokens.end(), 0u);
  return tokens;
}

TokenSpan span_of(const std::vector<uint32_t>& tokens, int64_t vocabulary = kVocabulary) {
  return {tokens.data(), 4, static_cast<int64_t>(tokens.size()), vocabulary};
}

class BatcherTest : public ::testing::Test {
 protected:
  Batch batch(const Batcher& batcher, int64_t step) {
    Batch batch;
    batcher.at(step, *backend_, batch);
    return batch;
  }
  static std::vector<int32_t> numbers(const Tensor& tensor) {
    return {tensor.data<int32_t>(), tensor.data<int32_t>() + tensor.count()};
  }
  /// Everything in the batches from `begin` to before `end`.
  std::vector<int32_t> stretch(const Batcher& batcher, int64_t begin, int64_t end) {
    std::vector<int32_t> all;
    Batch reused;
    for (int64_t step = begin; step < end; ++step) {
      batcher.at(step, *backend_, reused);
      for (const Tensor& tensor : {reused.tokens_BT, reused.targets_BT}) {
        const std::vector<int32_t> part = numbers(tensor);
        all.insert(all.end(), part.begin(), part.end());
      }
    }
    return all;
  }

  std::unique_ptr<Backend> backend_ = make_backend("reference");
};

std::string message_of(const TokenSpan& tokens, const Batcher::Options& options) {
  try {
    Batcher(tokens, options, "corpus.txt");
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

// R1: an unbroken run, and runs that begin at step k, read the same.
TEST_F(BatcherTest, StartingAnywhereGivesTheSameBatches) {
  const auto tokens = counting(997);
  for (const DataOrder order : {DataOrder::kShuffled, DataOrder::kLanes}) {
    const Batcher::Options options{.order = order, .sequences = 3, .context = 7, .seed = 5};
    const std::vector<int32_t> whole = stretch(Batcher(span_of(tokens), options, "a"), 0, 40);
    for (const int64_t k : {1, 13, 20, 39}) {
      std::vector<int32_t> joined = stretch(Batcher(span_of(tokens), options, "a"), 0, k);
      const auto rest = stretch(Batcher(span_of(tokens), options, "a"), k, 40);
      joined.insert(joined.end(), rest.begin(), rest.end());
      EXPECT_EQ(joined, whole) << k;
    }
  }
}

// R100.
TEST_F(BatcherTest, TargetsAreTheNextTokens) {
  const auto tokens = counting(500);
  for (const DataOrder order : {DataOrder::kShuffled, DataOrder::kLanes}) {
    const Batcher batcher(span_of(tokens), {.order = order, .sequences = 4, .context = 9}, "a");
    for (int64_t step = 0; step < 200; ++step) {
      const Batch b = batch(batcher, step);
      EXPECT_EQ(b.scored, 36);
      for (int64_t s = 0; s < 4; ++s) {
        const int64_t start = batcher.window_start(step, s);
        ASSERT_GE(start, 0);
        ASSERT_LE(start + 9 + 1, 500);  // never past the end
        for (int64_t t = 0; t < 9; ++t) {
          ASSERT_EQ(b.tokens_BT.data<int32_t>()[s * 9 + t], start + t);
          ASSERT_EQ(b.targets_BT.data<int32_t>()[s * 9 + t], start + t + 1);
        }
      }
    }
  }
}

// R5: 1,000 numbered windows, batches that do not divide them.
TEST_F(BatcherTest, EveryWindowOncePerEpoch) {
  constexpr int64_t kContext = 8, kWindows = 1000, kBatch = 7;
  const auto tokens = counting(kWindows * kContext + kContext + 5);
  const Batcher batcher(span_of(tokens), {.sequences = kBatch, .context = kContext}, "a");
  ASSERT_EQ(batcher.windows(), kWindows);
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    std::set<int64_t> starts, offsets;
    for (int64_t p = epoch * kWindows; p < (epoch + 1) * kWindows; ++p) {
      const int64_t start = batcher.window_start(p / kBatch, p % kBatch);
      starts.insert(start);
      offsets.insert(start % kContext);
    }
    EXPECT_EQ(starts.size(), size_t(kWindows)) << epoch;
    EXPECT_EQ(offsets.size(), 1u) << epoch;  // so all of them are side by side
  }
}

// R4: far epochs are orders of their own, and asking for them needs no earlier one.
TEST_F(BatcherTest, EpochsDifferAndDoNotDependOnEachOther) {
  const auto tokens = counting(64 * 8 + 20);
  const Batcher::Options options{.sequences = 1, .context = 8, .seed = 3};
  const auto order = [&](int64_t epoch, uint64_t seed) {
    Batcher::Options own = options;
    own.seed = seed;
    const Batcher batcher(span_of(tokens), own, "a");
    std::vector<int64_t> starts;
    for (int64_t w = 0; w < batcher.windows(); ++w) {
      starts.push_back(batcher.window_start(epoch * batcher.windows() + w, 0));
    }
    return starts;
  };
  std::set<std::vector<int64_t>> orders;
  for (const int64_t epoch : {0, 1, 2, 7}) {
    orders.insert(order(epoch, 3));
    EXPECT_EQ(order(epoch, 3), order(epoch, 3));
    orders.insert(order(epoch, 4));
  }
  EXPECT_EQ(orders.size(), 8u);
  std::set<int64_t> offsets;
  for (int64_t epoch = 0; epoch < 60; ++epoch) offsets.insert(order(epoch, 3)[0] % 8);
  EXPECT_EQ(offsets.size(), 8u);  // over many epochs, all of them
}

TEST_F(BatcherTest, EpochIsAFraction) {
  const auto tokens = counting(10 * 8 + 8);
  const Batcher batcher(span_of(tokens), {.sequences = 5, .context = 8}, "a");
  EXPECT_EQ(batch(batcher, 0).epoch, 0);
  EXPECT_EQ(batch(batcher, 1).epoch, 0.5);
  EXPECT_EQ(batch(batcher, 7).epoch, 3.5);
  EXPECT_FALSE(batch(batcher, 0).restarts);
}

// R101, R102.
TEST_F(BatcherTest, TooFewTokensAreTold) {
  const auto four = counting(4);
  const std::string message = message_of(span_of(four), {.sequences = 2, .context = 4});
  EXPECT_NE(message.find("corpus.txt: 4 tokens"), std::string::npos) << message;
  EXPECT_NE(message.find("need 5"), std::string::npos) << message;
  EXPECT_NE(message.find("lower model.context to 3"), std::string::npos) << message;
  EXPECT_NE(message_of(TokenSpan(), {.sequences = 1, .context = 1}), "");
  const auto one = counting(1);
  EXPECT_NE(message_of(span_of(one), {.sequences = 1, .context = 1}), "");
}

TEST_F(BatcherTest, OneWindowIsEnough) {
  const auto tokens = counting(5);
  const Batcher batcher(span_of(tokens), {.sequences = 3, .context = 4}, "a");
  for (const int64_t step : {0, 1, 99}) {
    const Batch b = batch(batcher, step);
    EXPECT_EQ(numbers(b.tokens_BT), (std::vector<int32_t>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}));
    EXPECT_EQ(numbers(b.targets_BT), (std::vector<int32_t>{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}));
  }
}

TEST_F(BatcherTest, LanesAreReadSideBySideAndStartAgain) {
  // B T + 1 tokens: each lane is one window.
  const auto least = counting(3 * 4 + 1);
  const Batcher one(span_of(least), {.order = DataOrder::kLanes, .sequences = 3, .context = 4},
                    "a");
  EXPECT_EQ(one.windows(), 1);
  EXPECT_TRUE(batch(one, 0).restarts);
  EXPECT_TRUE(batch(one, 1).restarts);
  std::vector<int32_t> expected(12);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(numbers(batch(one, 1).tokens_BT), expected);
  EXPECT_EQ(numbers(batch(one, 0).targets_BT).back(), 12);

  const auto tokens = counting(2 * 13 + 1);
  const Batcher lanes(span_of(tokens), {.order = DataOrder::kLanes, .sequences = 2, .context = 4},
                      "a");
  ASSERT_EQ(lanes.windows(), 3);
  EXPECT_EQ(lanes.window_start(0, 1), 13);
  for (int64_t step = 0; step < 9; ++step) {
    const Batch b = batch(lanes, step);
    EXPECT_EQ(b.restarts, step % 3 == 0) << step;
    EXPECT_EQ(lanes.window_start(step, 0), step % 3 * 4);
    EXPECT_EQ(lanes.window_start(step, 1), 13 + step % 3 * 4);
    EXPECT_DOUBLE_EQ(b.epoch, double(step) / 3);
  }
}

TEST_F(BatcherTest, TooShortLanesAreTold) {
  const auto tokens = counting(3 * 4);
  const std::string message =
      message_of(span_of(tokens), {.order = DataOrder::kLanes, .sequences = 3, .context = 4});
  EXPECT_NE(message.find("corpus.txt: 12 tokens make 3 lanes"), std::string::npos) << message;
  EXPECT_NE(message.find("trainer.batch_tokens"), std::string::npos) << message;
}

// R18: a late step costs what the first one does. The tokens lie in untouched memory, so the pages
// that became resident are those that were read.
TEST_F(BatcherTest, AFarStepReadsOnlyItsOwnTokens) {
  constexpr size_t kBytes = size_t{1} << 32;
  void* memory =
      mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, kBytes, MADV_NOHUGEPAGE);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  {
    const TokenSpan tokens(memory, 1, int64_t(kBytes), 256);
    const Batcher batcher(tokens, {.sequences = 12, .context = 64}, "a");
    batch(batcher, 1000000000);
  }
  std::vector<unsigned char> resident(kBytes / page);
  ASSERT_EQ(mincore(memory, kBytes, resident.data()), 0);
  const auto read = std::count_if(resident.begin(), resident.end(),
                                  [](unsigned char in) { return (in & 1) != 0; });
  munmap(memory, kBytes);
  EXPECT_GT(read, 0);
  EXPECT_LE(read, 2 * 12);  // a window touches two pages at most
}

// R144.
TEST_F(BatcherTest, BatchesAreValues) {
  const auto tokens = counting(300);
  const Batcher batcher(span_of(tokens), {.sequences = 2, .context = 8}, "a");
  Batch first = batch(batcher, 0);
  const Batch second = batch(batcher, 1), again = batch(batcher, 0);
  const std::vector<int32_t> before = numbers(second.tokens_BT);
  for (int64_t i = 0; i < first.tokens_BT.count(); ++i) {
    first.tokens_BT.data<int32_t>()[i] = -7;
    first.targets_BT.data<int32_t>()[i] = -1;
  }
  EXPECT_EQ(numbers(second.tokens_BT), before);
  EXPECT_EQ(numbers(batch(batcher, 0).tokens_BT), numbers(again.tokens_BT));
  EXPECT_EQ(numbers(batch(batcher, 0).targets_BT), numbers(again.targets_BT));
  // A reused one is filled anew, whatever it held.
  batcher.at(0, *backend_, first);
  EXPECT_EQ(numbers(first.tokens_BT), numbers(again.tokens_BT));
}

// R135.
TEST_F(BatcherTest, AnIdOutsideTheVocabularyIsDamage) {
  auto tokens = counting(9);
  const Batcher batcher(span_of(tokens, 9), {.sequences = 1, .context = 8}, "a");
  EXPECT_NO_THROW(batch(batcher, 0));
  tokens[5] = 9;
  EXPECT_THROW(batch(batcher, 0), DataError);
  tokens[5] = 0xFFFFFFFF;
  EXPECT_THROW(batch(batcher, 0), DataError);
}

TEST_F(BatcherTest, AllWidthsOfTokens) {
  const std::vector<uint8_t> narrow = {1, 2, 255, 4, 5};
  const std::vector<uint16_t> middle = {1, 2, 65535, 4, 5};
  int32_t out[5];
  TokenSpan(narrow.data(), 1, 5, 256).copy(0, 5, out);
  EXPECT_EQ(out[2], 255);
  TokenSpan(middle.data(), 2, 5, 65536).copy(1, 4, out);
  EXPECT_EQ(out[1], 65535);
  EXPECT_THROW(TokenSpan(narrow.data(), 1, 5, 256).copy(2, 4, out), DataError);
  EXPECT_THROW(TokenSpan(narrow.data(), 1, 5, 256).copy(-1, 2, out), DataError);
}

}  // namespace
}  // namespace tapemeasure
