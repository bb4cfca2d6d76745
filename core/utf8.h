// SPDX-License-Identifier: MIT
// UTF-8 (RFC 3629): code points and their borders.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tapemeasure {

/// One code point read from a text.
struct CodePoint {
  int32_t value = -1;  ///< -1: these bytes are not UTF-8
  int bytes = 1;       ///< how many it takes; the wrong ones, up to where reading can go on
};

/// Reads the code point at `offset`. Overlong forms, surrogates, values above U+10FFFF, stray
/// continuation bytes and cut sequences are not UTF-8. REQUIRES: offset < text.size().
CodePoint read_code_point(std::string_view text, size_t offset);
/// Whether all of a text is UTF-8.
bool is_utf8(std::string_view text);
/// The UTF-8 of a code point.
std::string write_code_point(int32_t value);
/// The last border of code points at or before `offset`. In text that is not UTF-8, `offset`
/// itself.
size_t code_point_border(std::string_view text, size_t offset);
/// The bytes of `text` before a code point that its end cuts in two: all of them if none is cut.
size_t whole_code_points(std::string_view text);
/// "byte 17 (line 2)", both counted as people do: bytes from 0, lines from 1.
std::string place_in_text(std::string_view text, size_t offset);

}  // namespace tapemeasure
