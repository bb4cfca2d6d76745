// SPDX-License-Identifier: MIT
// Words as WikiText has them.
#include <gtest/gtest.h>

#include "core/error.h"
#include "data/tokenizer.h"
#include "tests/data/hostile_texts.h"

namespace tapemeasure {
namespace {

std::unique_ptr<Tokenizer> learn(const std::string& text,
                                 std::optional<int64_t> vocabulary = std::nullopt,
                                 int64_t min_frequency = 1) {
  return make_tokenizer({"word", vocabulary, min_frequency}, text, "a.txt");
}

/// The words of a vocabulary in the order of ids.
std::string words_of(const Tokenizer& tokenizer) { return tokenizer.description(); }

std::vector<int32_t> encoded(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<int32_t> ids;
  tokenizer.encode(text, "a text", ids);
  return ids;
}

TEST(Word, IdsFallInFrequencyThenByBytes) {
  const auto tokenizer = learn(" b b b a a c\n c d \n e\n");
  EXPECT_EQ(words_of(*tokenizer), "<eos>\nb\na\nc\nd\ne\n<unk>");
  EXPECT_EQ(tokenizer->vocabulary(), 7);
  EXPECT_EQ(tokenizer->unknown(), 6);
  EXPECT_FALSE(tokenizer->lossless());
  EXPECT_EQ(encoded(*tokenizer, " a  e\t\v\f\r\nz"), (std::vector<int32_t>{2, 5, 0, 6}));
  EXPECT_EQ(tokenizer->decode(encoded(*tokenizer, "b a\nzebra e")), "b a \n<unk> e ");
}

TEST(Word, RareWordsAreUnknownAndCountAsSuch) {
  // d, e and f once: together they are as frequent as b, and "<unk>" comes before it.
  const auto tokenizer = learn("a a a a b b b c c d e f", std::nullopt, 2);
  EXPECT_EQ(words_of(*tokenizer), "a\n<unk>\nb\nc\n<eos>");
  const auto all = learn("a a b", std::nullopt, 1);
  EXPECT_EQ(words_of(*all), "a\nb\n<eos>\n<unk>");
}

TEST(Word, AVocabularyHoldsItsMostFrequent) {
  const std::string text = "d d c c b b a\n";  // of three equals, the first by bytes
  EXPECT_EQ(words_of(*learn(text, 4)), "<unk>\nb\nc\n<eos>");
  EXPECT_EQ(words_of(*learn(text, 2)), "<unk>\n<eos>");
  EXPECT_EQ(learn(text, 100)->vocabulary(), 6);
}

// The corpus has its own, and they are these tokens.
TEST(Word, MarksInTheTextAreTheTokens) {
  const auto tokenizer = learn("<unk> a <unk> <eos> a <unk>\n");
  EXPECT_EQ(words_of(*tokenizer), "<unk>\n<eos>\na");
  EXPECT_EQ(encoded(*tokenizer, "<unk> zebra <eos>\n"), (std::vector<int32_t>{0, 0, 1, 1}));
}

TEST(Word, LineEndsDoNotChangeWords) {  // R134
  const auto tokenizer = learn("one two\nthree\n");
  EXPECT_EQ(encoded(*tokenizer, "one two\nthree\n"), encoded(*tokenizer, "one two\r\nthree\r\n"));
}

TEST(Word, AnyBytesAreWords) {
  for (const std::string& text : testing::hostile_texts(false)) {
    const auto tokenizer = learn(text);
    const auto loaded = load_tokenizer("word", tokenizer->description());
    EXPECT_EQ(loaded->hash(), tokenizer->hash());
    const std::vector<int32_t> ids = encoded(*loaded, text);
    EXPECT_EQ(ids, encoded(*tokenizer, text));
    // What decode gives has the same words.
    EXPECT_EQ(encoded(*loaded, loaded->decode(ids)), ids);
  }
}

TEST(Word, CutsAreBehindWhiteSpace) {
  const auto tokenizer = learn("a b");
  EXPECT_EQ(tokenizer->cut("one two"), 4u);
  EXPECT_EQ(tokenizer->cut("one "), 4u);
  EXPECT_EQ(tokenizer->cut("one"), 0u);
  EXPECT_EQ(tokenizer->cut("a\nb"), 2u);
}

TEST(Word, DamagedDescriptionsAreRefused) {
  for (const char* damaged : {"", "a", "<unk>\na", "<unk>\n<eos>\na\na", "<unk>\n<eos>\n",
                              "<unk>\n<eos>\na b", "\n<unk>\n<eos>"}) {
    EXPECT_THROW(load_tokenizer("word", damaged), DataError) << damaged;
  }
}

TEST(Word, OptionsOfOthersAreRefused) {
  EXPECT_THROW(make_learner({"byte", 300, 1}), ConfigError);
  EXPECT_THROW(make_learner({"char", 300, 1}), ConfigError);
  EXPECT_THROW(make_learner({"bpe", 300, 2}), ConfigError);
  EXPECT_THROW(make_learner({"wort", std::nullopt, 1}), ConfigError);
}

}  // namespace
}  // namespace tapemeasure
