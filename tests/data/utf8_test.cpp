// SPDX-License-Identifier: MIT
// What readers of texts are told of bytes that are not UTF-8, and what counts as a character.
#include <gtest/gtest.h>

#include <vector>

#include "core/error.h"
#include "data/token_file.h"
#include "data/tokenizer.h"

namespace tapemeasure {
namespace {

std::string message_of(const std::string& text) {
  try {
    make_tokenizer("char", text, "a.txt");
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

struct Wrong {
  const char* what;
  std::string bytes;
  const char* shown;
};

// R132.
TEST(Utf8, InvalidFormsAreNamedWithByteAndLine) {
  const std::vector<Wrong> forms = {
      {"stray continuation", "\x80", "80"},
      {"second continuation byte too many", "\xC3\xA9\xA9", "A9"},
      {"overlong two bytes", "\xC0\xAF", "C0"},
      {"overlong two bytes, C1", "\xC1\xBF", "C1"},
      {"overlong three bytes", "\xE0\x9F\xBF", "E0 9F BF"},
      {"overlong four bytes", "\xF0\x8F\xBF\xBF", "F0 8F BF BF"},
      {"first surrogate", "\xED\xA0\x80", "ED A0 80"},
      {"last surrogate", "\xED\xBF\xBF", "ED BF BF"},
      {"above U+10FFFF", "\xF4\x90\x80\x80", "F4 90 80 80"},
      {"a first byte beyond four", "\xF5\x80\x80\x80", "F5"},
      {"five bytes", "\xF8\x88\x80\x80\x80", "F8"},
      {"UTF-16 mark", "\xFF\xFE", "FF"},
      {"FE", "\xFE", "FE"},
      {"two bytes cut by a letter", "\xC3z", "C3"},
      {"three bytes cut by a letter", "\xE2\x82z", "E2 82"},
      {"four bytes cut by a letter", "\xF0\x9F\x98z", "F0 9F 98"},
  };
  for (const Wrong& form : forms) {
    // Three good lines before it, the second with a character of two bytes.
    const size_t lead = form.bytes.starts_with("\xC3\xA9") ? 2 : 0;
    const std::string message = message_of("ab\n\xC3\xA9t\n\n" + form.bytes + " end");
    EXPECT_NE(message.find(fmt::format("a.txt: byte {} (line 4): ", 8 + lead)), std::string::npos)
        << form.what << ": " << message;
    EXPECT_NE(message.find(std::string("not UTF-8: ") + form.shown + ";"), std::string::npos)
        << form.what << ": " << message;
    EXPECT_NE(message.find("tokenizer byte"), std::string::npos);
  }
}

// R132: a character cut by the end of the file.
TEST(Utf8, SequencesCutByTheEndAreNamed) {
  for (const std::string cut : {"\xC3", "\xE2\x82", "\xE2", "\xF0\x9F\x98", "\xF0\x9F", "\xF0"}) {
    const std::string message = message_of("x\n" + cut);
    EXPECT_NE(message.find("a.txt: byte 2 (line 2): not UTF-8"), std::string::npos) << message;
  }
}

TEST(Utf8, CharactersAndWordsAreCounted) {
  EXPECT_EQ(count_characters(""), 0);
  EXPECT_EQ(count_characters("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), 4);
  EXPECT_EQ(count_characters("\xFF\x80"
                             "a"),
            3);
  EXPECT_EQ(count_characters("e\xCC\x81"), 2);  // a combining accent is a code point
  EXPECT_EQ(count_words(""), 0);
  EXPECT_EQ(count_words(" \t\r\n\v\f"), 0);
  EXPECT_EQ(count_words("one"), 1);
  EXPECT_EQ(count_words(" one\ttwo\r\nthree  "), 3);
}

}  // namespace
}  // namespace tapemeasure
