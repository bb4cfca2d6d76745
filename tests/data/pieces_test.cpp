// SPDX-License-Identifier: MIT
// bpe and unigram: every byte comes back, the same text gives the same vocabulary, wrong sizes say
// which are right.
#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "data/piece_units.h"
#include "data/tokenizer.h"
#include "tests/data/hostile_texts.h"

namespace tapemeasure {
namespace {

using namespace testing;

TokenizerOptions sized(const std::string& kind, int64_t vocabulary) {
  return {kind, vocabulary, 1};
}

class Pieces : public ::testing::TestWithParam<const char*> {
 protected:
  static std::unique_ptr<Tokenizer> learn(int64_t vocabulary, const std::string& text = prose()) {
    return make_tokenizer(sized(GetParam(), vocabulary), text, "a.txt");
  }
  static std::string message_of(int64_t vocabulary, const std::string& text) {
    try {
      learn(vocabulary, text);
    } catch (const DataError& error) {
      return error.what();
    }
    return "";
  }
};
INSTANTIATE_TEST_SUITE_P(, Pieces, ::testing::Values("bpe", "unigram"),
                         [](const auto& info) { return std::string(info.param); });

// R133, R134, R136.
TEST_P(Pieces, AnyBytesComeBack) {
  const auto tokenizer = learn(305);
  for (const std::string& text : hostile_texts(false)) {
    std::vector<int32_t> ids;
    tokenizer->encode(text, "a text", ids);
    ASSERT_EQ(tokenizer->decode(ids), text);
    size_t bytes = 0;
    for (const int32_t id : ids) {
      ASSERT_GE(id, 0);
      ASSERT_LT(id, tokenizer->vocabulary());
      bytes += tokenizer->bytes_of(id).size();
    }
    EXPECT_EQ(bytes, text.size());
  }
}

TEST_P(Pieces, WordsAreFewTokens) {
  const auto tokenizer = learn(305);
  EXPECT_EQ(tokenizer->vocabulary(), 305);
  EXPECT_TRUE(tokenizer->lossless());
  std::vector<int32_t> ids;
  tokenizer->encode("the light upon the water", "a text", ids);
  EXPECT_LE(ids.size(), 16u);
  std::vector<std::string> pieces;
  for (const int32_t id : ids) pieces.push_back(tokenizer->bytes_of(id));
  EXPECT_NE(std::find(pieces.begin(), pieces.end(), " the"), pieces.end());
}

TEST_P(Pieces, TheDescriptionIsAllOfIt) {
  const auto tokenizer = learn(305);
  const auto loaded = load_tokenizer(GetParam(), tokenizer->description());
  EXPECT_EQ(loaded->hash(), tokenizer->hash());
  EXPECT_EQ(loaded->vocabulary(), 305);
  std::vector<int32_t> ids, again;
  tokenizer->encode(prose(20) + torn_text(300, 3), "a text", ids);
  loaded->encode(prose(20) + torn_text(300, 3), "a text", again);
  EXPECT_EQ(ids, again);
  for (const std::string& damaged : {std::string("x"), std::string(), std::string(100, '\xFF')}) {
    EXPECT_THROW(load_tokenizer(GetParam(), damaged), DataError);
  }
}

TEST_P(Pieces, TheSameTextGivesTheSameBytes) {
  const std::string text = prose(2000) + torn_text(3000, 5);
  EXPECT_EQ(learn(345, text)->description(), learn(345, text)->description());
}

// Pieces of the text seen by learners of their own give what the whole gives.
TEST_P(Pieces, CutsDoNotChangeWhatIsLearned) {
  const std::string text = prose(300) + torn_text(2000, 9) + std::string(5000, 'y');
  const auto whole = make_learner(sized(GetParam(), 340));
  whole->see(text, {});
  const auto merged = make_learner(sized(GetParam(), 340));
  for (size_t at = 0; at < text.size();) {
    size_t size = std::min<size_t>(1500, text.size() - at);
    if (at + size < text.size()) size = merged->cut(std::string_view(text).substr(at, size));
    ASSERT_GT(size, 0u);
    const auto part = make_learner(sized(GetParam(), 340));
    part->see(std::string_view(text).substr(at, size), {});
    merged->merge(*part);
    at += size;
  }
  EXPECT_EQ(merged->learn("a")->description(), whole->learn("a")->description());
}

// R136: nothing is skipped for the length of its line.
TEST_P(Pieces, LongLinesAreLearnedFrom) {
  std::string text = prose(4000);
  std::replace(text.begin(), text.end(), '\n', ' ');
  ASSERT_GT(text.size(), 200000u);
  const auto tokenizer = learn(305, text);
  std::vector<int32_t> ids;
  tokenizer->encode(text, "a text", ids);
  EXPECT_LT(ids.size(), text.size() / 2);
  std::string endless;
  while (endless.size() < 300000) endless += "abcab";
  EXPECT_EQ(learn(262, endless)->vocabulary(), 262);
}

TEST_P(Pieces, WrongSizesSayTheRightOnes) {
  const std::string high = message_of(8000, prose());
  const std::string before = "a.txt: a vocabulary of 8000 is more than " + std::string(GetParam()) +
                             " finds in this text: ask for at most ";
  ASSERT_TRUE(high.starts_with(before)) << high;
  const int64_t most = std::stoll(high.substr(before.size()));
  EXPECT_EQ(learn(most)->vocabulary(), most);
  EXPECT_NE(message_of(most + 1, prose()), "");

  const std::string low = message_of(260, prose());
  const size_t at = low.find("need ");
  ASSERT_NE(at, std::string::npos) << low;
  EXPECT_TRUE(low.starts_with("a.txt: a vocabulary of 260 is too small for ")) << low;
  const int64_t least = std::stoll(low.substr(at + 5));
  EXPECT_NE(message_of(least - 1, prose()), "");
  EXPECT_EQ(learn(least)->vocabulary(), least);
}

TEST_P(Pieces, TextsWithoutWords) {
  for (const char* text : {"", "\n\n", "\xE2\x96\x81", "\xFF\xFE"}) {
    EXPECT_EQ(message_of(300, text),
              "a.txt: no text to learn " + std::string(GetParam()) + " pieces from");
  }
  EXPECT_EQ(learn(258, "x")->vocabulary(), 258);
  EXPECT_NE(message_of(300, "x").find("at most 258"), std::string::npos);
}

// What the text calls itself must not meet the library's own names.
TEST_P(Pieces, NamesOfTokensAreText) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "<unk> <s> </s> <0x0A> <0xFF><0x00>x ";
  const auto tokenizer = learn(270, text);
  std::vector<int32_t> ids;
  tokenizer->encode(text, "a text", ids);
  EXPECT_EQ(tokenizer->decode(ids), text);
}

TEST_P(Pieces, NothingIsPrinted) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  learn(305);
  message_of(8000, prose());
  message_of(260, prose());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST(PieceUnits, AddUpToTheTextAndDoNotDependOnWhatFollows) {
  for (const std::string& text : hostile_texts(false)) {
    std::set<size_t> begins;
    size_t at = 0;
    while (at < text.size()) {
      begins.insert(at);
      const PieceUnit unit = unit_at(text, at);
      ASSERT_FALSE(unit.bytes.empty());
      ASSERT_LE(unit.bytes.size(), kLongestUnit);
      at += unit.bytes.size();
    }
    ASSERT_EQ(at, text.size());
    // Every prefix may be cut only where the whole text has a unit.
    const size_t step = 1 + text.size() / 300;
    for (size_t size = 0; size < text.size(); size += step) {
      const size_t cut = cut_units(std::string_view(text).substr(0, size));
      EXPECT_TRUE(cut == 0 || begins.contains(cut)) << size << " of " << text.size();
      EXPECT_GT(cut + 2 * kLongestUnit, size);
    }
  }
}

}  // namespace
}  // namespace tapemeasure
