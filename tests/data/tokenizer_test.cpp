// SPDX-License-Identifier: MIT
// Bytes in = bytes out, on texts that were not made to be read.
#include "data/tokenizer.h"

#include <gtest/gtest.h>

#include <random>

#include "core/error.h"
#include "core/utf8.h"

namespace tapemeasure {
namespace {

std::string round_trip(const std::string& kind, const std::string& text) {
  const auto tokenizer = make_tokenizer(kind, text, "a text");
  std::vector<int32_t> ids;
  tokenizer->encode(text, "a text", ids);
  for (const int32_t id : ids) {
    EXPECT_GE(id, 0);
    EXPECT_LT(id, tokenizer->vocabulary());
  }
  // Whatever is stored of it is enough to read the ids back.
  const auto loaded = load_tokenizer(kind, tokenizer->description());
  EXPECT_EQ(loaded->hash(), tokenizer->hash());
  EXPECT_EQ(loaded->decode(ids), text);
  return tokenizer->decode(ids);
}

std::string random_code_points(std::mt19937_64& random, int count) {
  // Plain, combining, beyond the 16-bit plane, and the last of all.
  const std::vector<std::pair<int32_t, int32_t>> blocks = {
      {0, 0x7F},        {0x80, 0x7FF},      {0x300, 0x36F},       {0x4E00, 0x9FFF},
      {0xE000, 0xFFFF}, {0x1F300, 0x1FAFF}, {0x10FFF0, 0x10FFFF}, {0xFEFF, 0xFEFF},
      {0x2028, 0x2029}};
  std::string text;
  for (int i = 0; i < count; ++i) {
    const auto& [low, high] = blocks[random() % blocks.size()];
    text += write_code_point(low + static_cast<int32_t>(random() % uint64_t(high - low + 1)));
  }
  return text;
}

TEST(Tokenizer, ByteKeepsEveryByte) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(round_trip("byte", all), all);
  std::mt19937_64 random(1);
  std::string noise(100000, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  EXPECT_EQ(round_trip("byte", noise), noise);
  EXPECT_EQ(make_tokenizer("byte", "a", "a text")->vocabulary(), 256);
}

TEST(Tokenizer, CharKeepsEveryCodePoint) {
  std::mt19937_64 random(2);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const std::string text = random_code_points(random, 2000);
    ASSERT_EQ(round_trip("char", text), text);
  }
}

// R133, R134.
TEST(Tokenizer, CharKeepsMarksLineEndsAndZeros) {
  for (const std::string& text :
       {std::string("\xEF\xBB\xBFtext"), std::string("te\xEF\xBB\xBFxt"), std::string("a\r\nb\r\n"),
        std::string("a\rb\r"), std::string("a\0b\0\0", 5), std::string("\0", 1),
        std::string("e\xCC\x81\xC3\xA9"), std::string("\xF0\x9F\x91\xA9\xE2\x80\x8D")}) {
    EXPECT_EQ(round_trip("char", text), text);
    EXPECT_EQ(round_trip("byte", text), text);
  }
}

TEST(Tokenizer, CharIdsFollowTheCodePoints) {
  const auto tokenizer = make_tokenizer("char", "banana \xC4\x85", "a text");
  EXPECT_EQ(tokenizer->vocabulary(), 5);
  std::vector<int32_t> ids;
  tokenizer->encode(" abn\xC4\x85", "a text", ids);
  EXPECT_EQ(ids, (std::vector<int32_t>{0, 1, 2, 3, 4}));
}

// R135.
TEST(Tokenizer, CharNamesAnUnknownCharacterAndItsPlace) {
  const auto tokenizer = make_tokenizer("char", "abc\n", "a text");
  std::vector<int32_t> ids;
  const auto message = [&](const std::string& text) -> std::string {
    try {
      tokenizer->encode(text, "the prompt", ids);
    } catch (const DataError& error) {
      return error.what();
    }
    return "";
  };
  const std::string unknown = message("ab\nc\xC5\xBC");
  EXPECT_NE(unknown.find("the prompt: byte 4 (line 2): the character '\xC5\xBC' (U+017C)"),
            std::string::npos)
      << unknown;
  EXPECT_NE(unknown.find("4 characters"), std::string::npos) << unknown;
  // Control characters must not reach the terminal.
  EXPECT_EQ(message("a\x1B").find('\x1B'), std::string::npos);
  EXPECT_NE(message("a\x1B").find("U+001B"), std::string::npos);
  EXPECT_EQ(message("a\x7F").find('\x7F'), std::string::npos);
}

TEST(Tokenizer, HashesTellTokenizersApart) {
  const auto hash = [](const char* kind, const char* text) {
    return make_tokenizer(kind, text, "a text")->hash();
  };
  EXPECT_EQ(hash("char", "abc"), hash("char", "cabcab"));
  EXPECT_NE(hash("char", "abc"), hash("char", "abd"));
  EXPECT_NE(hash("char", "abc"), hash("byte", "abc"));
  EXPECT_EQ(hash("byte", "abc"), hash("byte", "xyz"));
}

TEST(Tokenizer, UnknownKindsAndDamagedDescriptionsAreRefused) {
  EXPECT_THROW(make_tokenizer("bite", "abc", "a text"), ConfigError);
  EXPECT_THROW(load_tokenizer("bite", ""), DataError);
  EXPECT_THROW(load_tokenizer("char", ""), DataError);
  EXPECT_THROW(load_tokenizer("char", "ba"), DataError);
  EXPECT_THROW(load_tokenizer("char", "aab"), DataError);
  EXPECT_THROW(load_tokenizer("char", "a\xFF"), DataError);
}

}  // namespace
}  // namespace tapemeasure
