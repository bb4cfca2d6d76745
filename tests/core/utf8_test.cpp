// SPDX-License-Identifier: MIT
// UTF-8 as RFC 3629 has it: what is a code point, what is not, and where a text may be cut.
#include "core/utf8.h"

#include <gtest/gtest.h>

#include <vector>

namespace tapemeasure {
namespace {

TEST(Utf8, EveryCodePointReadsBack) {
  for (int32_t value = 0; value <= 0x10FFFF; ++value) {
    if (value >= 0xD800 && value <= 0xDFFF) continue;
    const std::string text = write_code_point(value);
    const CodePoint point = read_code_point(text, 0);
    ASSERT_EQ(point.value, value);
    ASSERT_EQ(point.bytes, static_cast<int>(text.size()));
  }
}

TEST(Utf8, OneWrongByteMakesATextOther) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"));
  for (const char* wrong : {"\x80", "\xC0\xAF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                            "\xF4\x90\x80\x80", "\xE2\x82"}) {
    EXPECT_FALSE(is_utf8(std::string("ab") + wrong)) << wrong;
  }
}

TEST(Utf8, BordersNeverLieInsideACodePoint) {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
  const std::vector<size_t> borders = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
  for (size_t offset = 0; offset < borders.size(); ++offset) {
    EXPECT_EQ(code_point_border(text, offset), borders[offset]) << offset;
  }
}

TEST(Utf8, BordersInOtherBytesStayWhereTheyAre) {
  const std::string text = "\x80\x80\x80\x80\xFF\xC3";
  for (size_t offset = 0; offset <= text.size(); ++offset) {
    EXPECT_EQ(code_point_border(text, offset), offset);
  }
}

}  // namespace
}  // namespace tapemeasure
