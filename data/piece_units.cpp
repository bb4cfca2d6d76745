// SPDX-License-Identifier: MIT
#include "data/piece_units.h"

#include "core/utf8.h"

namespace tapemeasure {

namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

/// U+2581 stands for a space in pieces, U+2585 for the unknown when pieces are learned.
bool is_mark(int32_t code_point) { return code_point == 0x2581 || code_point == 0x2585; }

}  // namespace

PieceUnit unit_at(std::string_view text, size_t offset) {
  if (is_control(text[offset])) return {text.substr(offset, 1), true};
  size_t end = offset;
  while (end < text.size() && end - offset < kLongestUnit) {
    const char c = text[end];
    if (is_control(c) || (c == ' ' && end > offset)) break;
    const CodePoint point = read_code_point(text, end);
    const auto size = static_cast<size_t>(point.bytes);
    if (point.value < 0 || is_mark(point.value)) {
      if (end == offset) return {text.substr(offset, size), true};
      break;
    }
    if (end + size - offset > kLongestUnit) break;
    end += size;
  }
  return {text.substr(offset, end - offset), false};
}

size_t cut_units(std::string_view text) {
  // At a space, or behind a control character, a unit begins whatever came before.
  for (size_t at = text.size(); at-- > 1;) {
    if (text[at] == ' ') return at;
    if (is_control(text[at])) return at + 1;
  }
  // One giant word: its units follow from its start, but not those that the end of the text cuts.
  constexpr size_t kUnsure = 4;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t next = begin + unit_at(text, begin).bytes.size();
    if (next + kUnsure > text.size()) break;
    begin = next;
  }
  return begin;
}

}  // namespace tapemeasure
