// SPDX-License-Identifier: MIT
// Streaming: where a text is cut into pieces does not show in its tokens, splits may have files of
// their own, and damage is found where it is used.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/hdf5_file.h"
#include "core/utf8.h"
#include "data/prepare.h"
#include "tests/core/temporary_folder.h"
#include "tests/data/hostile_texts.h"

namespace tapemeasure {
namespace {

using namespace testing;
constexpr Split kSplits[] = {Split::kTrain, Split::kValid, Split::kTest};

std::vector<int32_t> ids_of(const TokenFile& file, Split split) {
  const TokenSpan tokens = file.tokens(split);
  std::vector<int32_t> ids(static_cast<size_t>(tokens.size()));
  tokens.copy(0, tokens.size(), ids.data());
  return ids;
}

/// Several times the size of a piece, with everything that a border may fall on.
std::string long_text(bool utf8) {
  std::string text;
  for (uint64_t seed = 0; text.size() < (9 << 20); ++seed) {
    text += prose(2000);
    if (!utf8) text += torn_text(100000, seed) + random_bytes(100000, seed);
    for (int i = 0; i < 200000; ++i) text += write_code_point(0x4E00 + i % 20);
    if (seed == 1) text += std::string(5 << 20, 'x');  // one word larger than a piece
  }
  return text;
}

class Streams : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, Streams, ::testing::Values("byte", "char", "word", "bpe", "unigram"),
                         [](const auto& info) { return std::string(info.param); });

// R136 among others.
TEST_P(Streams, BordersOfPiecesDoNotShow) {
  const TemporaryFolder folder;
  const std::string kind = GetParam(), text = long_text(kind == "char");
  PrepareOptions options{{folder.write("a.txt", text)}, kind, {80, 15, 5}};
  if (kind == "bpe" || kind == "unigram") options.vocabulary = 1200;
  const PrepareReport report = prepare(options, folder.path("a.h5"));
  EXPECT_EQ(report.bytes, static_cast<int64_t>(text.size()));
  const TokenFile file(folder.path("a.h5"));
  const Tokenizer& tokenizer = *file.tokenizer();
  EXPECT_EQ(tokenizer.lossless(), kind != "word");

  size_t begin = 0;
  for (const Split split : kSplits) {
    const std::string part = text.substr(begin, static_cast<size_t>(file.bytes(split)));
    begin += part.size();
    if (split == Split::kTrain) {
      const std::string learned_from = tokenizer.kind() == "char" ? text : part;
      EXPECT_EQ(make_tokenizer(options.tokenizer_options(), learned_from, "a")->hash(),
                tokenizer.hash());
    }
    std::vector<int32_t> whole;
    tokenizer.encode(part, "a", whole);
    EXPECT_TRUE(ids_of(file, split) == whole);
    if (tokenizer.lossless()) {
      EXPECT_TRUE(tokenizer.decode(whole) == part);
    }
    EXPECT_EQ(file.characters(split), count_characters(part));
    EXPECT_EQ(file.words(split), count_words(part));
    EXPECT_EQ(file.unknown(split), report.unknown[static_cast<int>(split)]);
  }
  EXPECT_EQ(begin, text.size());
}

TEST(Prepare, VocabulariesAbove65535AreStored) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 70000; ++i) text += fmt::format("w{} ", i);
  for (const auto& [most, wanted] : {std::pair{65536, 65536}, {65537, 65537}, {80000, 70002}}) {
    PrepareOptions options{{folder.write("a.txt", text)}, "word", {1, 0, 0}};
    options.vocabulary = most;
    prepare(options, folder.path("a.h5"));
    const TokenFile file(folder.path("a.h5"));
    EXPECT_EQ(file.tokenizer()->vocabulary(), wanted);
    std::vector<int32_t> whole;
    file.tokenizer()->encode(text, "a", whole);
    EXPECT_EQ(ids_of(file, Split::kTrain), whole);
    EXPECT_EQ(file.unknown(Split::kTrain), 70000 - (wanted - 2));
    const ElementType type = Hdf5Reader(folder.path("a.h5")).info("train/tokens").type;
    EXPECT_EQ(type, wanted <= 65536 ? ElementType::kU16 : ElementType::kU32);
  }
}

TEST(Prepare, SplitsMayHaveFilesOfTheirOwn) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.txt", "one two three\n"), v = folder.write("v.txt", "two "),
                    w = folder.write("w.txt", "four\n"), t = folder.write("t.txt", "one one\n");
  PrepareOptions options{{a}, "word", {90, 5, 5}};
  options.valid = {v, w};
  EXPECT_THROW(settle_split(options, true), ConfigError);
  settle_split(options, false);
  EXPECT_EQ(options.split, (std::vector<double>{90, 0, 5}));
  options.test = {t};
  settle_split(options, false);
  EXPECT_NO_THROW(settle_split(options, true));
  prepare(options, folder.path("a.h5"));
  const TokenFile file(folder.path("a.h5"));
  const auto text = [&](Split split) { return file.tokenizer()->decode(ids_of(file, split)); };
  EXPECT_EQ(text(Split::kTrain), "one two three \n");
  EXPECT_EQ(text(Split::kValid), "two <unk> \n");
  EXPECT_EQ(text(Split::kTest), "one one \n");
  EXPECT_EQ(file.unknown(Split::kTrain), 0);
  EXPECT_EQ(file.unknown(Split::kValid), 1);
  EXPECT_EQ(file.origin(Split::kTrain), a + " (train)");
  EXPECT_EQ(file.origin(Split::kValid), v + " + " + w + " (valid)");
  EXPECT_EQ(file.origin(Split::kTest), t + " (test)");
  EXPECT_EQ(file.texts().size(), 4u);

  // Without a file for the test it comes from the text.
  options.test.clear();
  options.split = {1, 0, 1};
  prepare(options, folder.path("b.h5"));
  const TokenFile half(folder.path("b.h5"));
  EXPECT_EQ(half.bytes(Split::kTrain), half.bytes(Split::kTest));
  EXPECT_EQ(half.origin(Split::kTest), a + " (test)");
}

// What everything depends on is in the name of the cached file.
TEST(Prepare, EveryOptionHasItsOwnCachedFile) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.txt", prose(50)), b = folder.write("b.txt", prose(40));
  std::vector<PrepareOptions> all(8, PrepareOptions{{a}, "word", {90, 5, 5}});
  all[1].vocabulary = 5;
  all[2].min_frequency = 2;
  all[3].valid = {b};
  all[4].test = {b};
  all[5].texts = {a, b};
  all[6].tokenizer = "bpe";
  all[6].vocabulary = 300;
  all[7].line_ends = LineEnds::kLf;
  std::vector<std::string> paths, notices;
  for (const PrepareOptions& options : all) {
    paths.push_back(cached_token_file(options, folder.path("cache"), notices).path());
  }
  std::sort(paths.begin(), paths.end());
  EXPECT_EQ(std::adjacent_find(paths.begin(), paths.end()), paths.end());
  notices.clear();
  cached_token_file(all[1], folder.path("cache"), notices);  // prepared before: said again
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_TRUE(notices[0].starts_with("<unk>: ")) << notices[0];
}

TEST(Prepare, APreparedFileOfOtherLineEndsIsRefused) {
  const TemporaryFolder folder;
  PrepareOptions options{{folder.write("a.txt", prose())}, "byte", {90, 5, 5}};
  options.line_ends = LineEnds::kLf;
  prepare(options, folder.path("a.h5"));
  options.texts = {folder.path("a.h5")};
  std::vector<std::string> notices;
  EXPECT_EQ(cached_token_file(options, "", notices).line_ends(), LineEnds::kLf);
  options.line_ends = LineEnds::kRaw;
  EXPECT_THROW(cached_token_file(options, "", notices), DataError);
}

TEST(Prepare, APreparedFileOfAnotherSizeIsRefused) {
  const TemporaryFolder folder;
  PrepareOptions options{{folder.write("a.txt", prose())}, "bpe", {90, 5, 5}};
  options.vocabulary = 300;
  prepare(options, folder.path("a.h5"));
  options.texts = {folder.path("a.h5")};
  std::vector<std::string> notices;
  EXPECT_NO_THROW(cached_token_file(options, folder.path("c"), notices));
  options.vocabulary = std::nullopt;
  EXPECT_NO_THROW(cached_token_file(options, folder.path("c"), notices));
  options.vocabulary = 301;
  EXPECT_THROW(cached_token_file(options, folder.path("c"), notices), DataError);
  options.vocabulary = 300;
  options.valid = {folder.path("a.txt")};
  EXPECT_THROW(cached_token_file(options, folder.path("c"), notices), ConfigError);
}

TEST(Prepare, ATextMayComeThroughAPipe) {
  const TemporaryFolder folder;
  const std::string pipe = folder.path("pipe"), text = prose(30000);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << text; });
  PrepareOptions options{{pipe}, "char", {1, 0, 0}};
  prepare(options, folder.path("a.h5"));
  writer.join();
  const TokenFile file(folder.path("a.h5"));
  EXPECT_TRUE(file.tokenizer()->decode(ids_of(file, Split::kTrain)) == text);
}

TEST(Prepare, ATextThatChangesIsNoticed) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.txt", "some text");
  const Text text({path});
  EXPECT_NO_THROW(text.check_unchanged());
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_THROW(text.check_unchanged(), DataError);
  std::filesystem::resize_file(path, 4);
  std::string all(text.size(), '\0');
  EXPECT_THROW(text.read(0, all), DataError);
}

// R30: too large to be checked when it is opened, so each block is when it is used.
TEST(Prepare, DamageInALargeFileIsFoundWhereItIsUsed) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  prepare({{folder.write("a.txt", std::string(70 << 20, 'x'))}, "byte", {1, 0, 0}}, path);
  ASSERT_GT(std::filesystem::file_size(path), TokenFile::kCheckedWhole);
  const uint64_t offset = Hdf5Reader(path, Hdf5Check::kLayout).offset("train/tokens");
  constexpr int64_t kWhere = 50'000'000;
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset + kWhere));
    file.put('y');
  }
  const TokenFile file(path);
  const TokenSpan tokens = file.tokens(Split::kTrain);
  std::vector<int32_t> ids(1000);
  EXPECT_NO_THROW(tokens.copy(0, 1000, ids.data()));
  EXPECT_EQ(ids, std::vector<int32_t>(1000, 'x'));
  EXPECT_NO_THROW(tokens.copy(tokens.size() - 1000, 1000, ids.data()));
  try {
    tokens.copy(kWhere - 500, 1000, ids.data());
    FAIL();
  } catch (const DataError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with(path + ": damaged: tokens at bytes "))
        << error.what();
  }
  EXPECT_THROW(Hdf5Reader(path, Hdf5Check::kLayout).verify(), CheckpointError);
}

}  // namespace
}  // namespace tapemeasure
