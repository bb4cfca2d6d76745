// SPDX-License-Identifier: MIT
// Pairs of texts: how they are prepared, and batches that hold each pair once per epoch.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/error.h"
#include "tests/core/temporary_folder.h"
#include "tests/data/objective_fixture.h"

namespace tapemeasure::testing {
namespace {

namespace fs = std::filesystem;

class Translation : public ::testing::Test {
 protected:
  /// Files of `lines` lines of different lengths; each line is another.
  void write(int64_t lines) {
    std::string source, target;
    for (int64_t line = 0; line < lines; ++line) {
      const auto length = static_cast<size_t>(1 + random_below(4, static_cast<uint64_t>(line), 30));
      source += std::to_string(line) + std::string(length, 'a') + "\n";
      target += std::string(length / 2, 'b') + std::to_string(line) + "\n";
    }
    options_.source = folder_.write("a.txt", source);
    options_.target = folder_.write("b.txt", target);
  }
  PairFile open() const { return cached_pair_file(options_, cache()); }
  std::string cache() const { return folder_.path("cache"); }

  TemporaryFolder folder_;
  PairOptions options_{"", "", {.kind = "char"}, {80, 10, 10}};
};

std::string text_of(const PairFile& file, std::span<const int32_t> ids) {
  return file.tokenizer()->decode(ids);
}

TEST_F(Translation, LinesComeBackSplitByLines) {
  options_.source = folder_.write("a.txt", "ein\r\nzwei\n\nvier\nfünf");
  options_.target = folder_.write("b.txt", "one\ntwo\nthree\n\nfive\n");
  options_.split = {60, 20, 20};
  const PairFile file = open();
  const PairSpan train = file.pairs(Split::kTrain), test = file.pairs(Split::kTest);
  ASSERT_EQ(train.size(), 3);
  EXPECT_EQ(file.pairs(Split::kValid).size(), 1);
  EXPECT_EQ(test.size(), 1);
  EXPECT_EQ(text_of(file, (*train.source)[0]), "ein");
  EXPECT_EQ(text_of(file, (*train.target)[0]), "one");
  EXPECT_EQ(text_of(file, (*train.source)[1]), "zwei");
  EXPECT_EQ(text_of(file, (*train.source)[2]), "");
  EXPECT_EQ(text_of(file, (*train.target)[2]), "three");
  EXPECT_EQ(text_of(file, (*test.source)[0]), "fünf");
  EXPECT_EQ(text_of(file, (*test.target)[0]), "five");
  EXPECT_EQ(file.texts()[1].bytes, 20);
  EXPECT_EQ(file.training_tokens(), 3 + 4 + 3 + 3 + 5);
}

TEST_F(Translation, UnequalTextsAreRefusedWithBothNumbers) {
  options_.source = folder_.write("a.txt", "one\ntwo\n");
  options_.target = folder_.write("b.txt", "eins\nzwei\ndrei\n");
  try {
    open();
    ADD_FAILURE() << "taken";
  } catch (const DataError& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("a.txt has 2 lines"), std::string::npos) << said;
    EXPECT_NE(said.find("b.txt has 3"), std::string::npos) << said;
  }
  options_.target = folder_.path("none.txt");
  EXPECT_THROW(open(), DataError);
}

TEST_F(Translation, IsPreparedOnceAndAgainWhenDamaged) {
  write(50);
  const std::string path = open().path();
  const auto time = fs::last_write_time(path);
  EXPECT_EQ(open().path(), path);
  EXPECT_EQ(fs::last_write_time(path), time);
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(4000) << "damage";
  EXPECT_THROW(PairFile{path}, DataError);
  EXPECT_EQ(open().pairs(Split::kTrain).size(), 40);
  EXPECT_NO_THROW(PairFile{path});
  options_.split = {100, 0, 0};
  EXPECT_NE(open().path(), path);
}

ObjectiveSetting setting(const PairFile& file) {
  return {.reader = Reader::kEncoderDecoder,
          .context = 48,
          .batch_tokens = 192,
          .vocabulary = file.tokenizer()->vocabulary(),
          .seed = 3};
}

/// The pairs of a batch, as text; checks its layout.
std::vector<std::string> pairs_of(const PairFile& file, const Batch& batch) {
  const auto end = static_cast<int32_t>(file.tokenizer()->vocabulary());
  const int64_t count = batch.tokens_BT.shape()[0];
  std::vector<std::string> pairs;
  int64_t scored = 0;
  for (int64_t s = 0; s < count; ++s) {
    auto source = row_of(batch.source_BS, s), target = row_of(batch.targets_BT, s);
    const auto tokens = row_of(batch.tokens_BT, s);
    const auto length = static_cast<size_t>(batch.source_lengths_B.data<int32_t>()[s]);
    EXPECT_EQ(source[length - 1], end);
    EXPECT_TRUE(
        std::all_of(source.begin() + length, source.end(), [&](int t) { return t == end + 1; }));
    source.resize(length - 1);
    const auto last = std::find(target.begin(), target.end(), end);
    EXPECT_TRUE(std::all_of(last + 1, target.end(), [](int t) { return t == -1; }));
    EXPECT_EQ(tokens[0], end + 1);
    EXPECT_TRUE(std::equal(target.begin(), last, tokens.begin() + 1));
    scored += last - target.begin() + 1;
    target.erase(last, target.end());
    pairs.push_back(text_of(file, source) + " = " + text_of(file, target));
  }
  EXPECT_EQ(batch.scored, scored);
  const int64_t longer = std::max(batch.source_BS.shape()[1], batch.tokens_BT.shape()[1]);
  EXPECT_LE(longer * count, 192);
  EXPECT_TRUE(longer % 8 == 0 || longer == 48);
  return pairs;
}

TEST_F(Translation, EachPairOncePerEpochInAnotherOrder) {
  write(300);
  const PairFile file = open();
  const auto options = objective("kind: translation");
  const Part part{{}, file.pairs(Split::kTrain), "pairs"};
  const auto source = options->training(part, setting(file));
  const auto* table = dynamic_cast<const FiniteSource*>(source.get());
  ASSERT_NE(table, nullptr);
  std::vector<std::vector<std::string>> epochs;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    std::vector<std::string>& seen = epochs.emplace_back();
    for (int64_t step = 0; step < table->batches(); ++step) {
      const Batch batch = batch_at(*source, epoch * table->batches() + step);
      EXPECT_DOUBLE_EQ(batch.epoch, double(epoch) + double(step) / double(table->batches()));
      for (const std::string& pair : pairs_of(file, batch)) seen.push_back(pair);
    }
    EXPECT_EQ(seen.size(), 240u);
    EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 240u);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  const auto again = options->training(part, setting(file));
  EXPECT_EQ(numbers_of(batch_at(*again, 77)), numbers_of(batch_at(*source, 77)));
}

TEST_F(Translation, LongPairsAreLeftOutByName) {
  write(100);
  const PairFile file = open();
  const auto options = objective("kind: translation");
  const Part part{{}, file.pairs(Split::kTrain), "pairs"};
  ObjectiveSetting narrow = setting(file);
  EXPECT_EQ(options->notice(part, narrow), "");
  narrow.context = 20;
  size_t fit = 0, first = 0;
  for (int64_t i = 80; i-- > 0;) {
    const bool fits = (*part.pairs.source)[i].size() < 20 && (*part.pairs.target)[i].size() < 20;
    fit += fits;
    if (!fits) first = static_cast<size_t>(i + 1);
  }
  ASSERT_TRUE(fit > 0 && fit < 80);
  EXPECT_EQ(options->notice(part, narrow),
            fmt::format("pairs: {} of 80 pairs do not fit model.context 20 and are left out, the "
                        "first is pair {}",
                        80 - fit, first));
  const auto source = options->evaluation(part, narrow, std::nullopt);
  size_t seen = 0;
  for (int64_t step = 0; step < source->batches(); ++step) {
    seen += static_cast<size_t>(batch_at(*source, step).tokens_BT.shape()[0]);
  }
  EXPECT_EQ(seen, fit);
  narrow.context = 1;
  EXPECT_THROW(options->training(part, narrow), DataError);
  EXPECT_EQ(options->evaluation(part, narrow, std::nullopt)->batches(), 0);
}

TEST_F(Translation, SmoothsInTrainingOnly) {
  EXPECT_EQ(objective("kind: translation")->smoothing(), 0.1);
  EXPECT_EQ(objective("kind: translation, smoothing: 0")->smoothing(), 0);
  EXPECT_EQ(objective("kind: causal")->smoothing(), 0);
}

}  // namespace
}  // namespace tapemeasure::testing
