// SPDX-License-Identifier: MIT
#include "core/utf8.h"

#include <fmt/format.h>

#include <algorithm>

namespace tapemeasure {

namespace {
bool continues(unsigned char byte) { return (byte & 0xC0) == 0x80; }
}  // namespace

CodePoint read_code_point(std::string_view text, size_t offset) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[offset + i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const int length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return {-1, 1};
  int32_t value = first & (0x7F >> length);
  for (int i = 1; i < length; ++i) {
    if (offset + i >= text.size() || !continues(byte(i))) return {-1, i};
    value = (value << 6) | (byte(i) & 0x3F);
  }
  constexpr int32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[length] || surrogate || value > 0x10FFFF) return {-1, length};
  return {value, length};
}

bool is_utf8(std::string_view text) {
  for (size_t offset = 0; offset < text.size();) {
    const CodePoint point = read_code_point(text, offset);
    if (point.value < 0) return false;
    offset += static_cast<size_t>(point.bytes);
  }
  return true;
}

std::string write_code_point(int32_t value) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((value >> shift) & 0x3F)); };
  if (value < 0x80) return {static_cast<char>(value)};
  if (value < 0x800) return {static_cast<char>(0xC0 | (value >> 6)), tail(0)};
  if (value < 0x10000) return {static_cast<char>(0xE0 | (value >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | (value >> 18)), tail(12), tail(6), tail(0)};
}

size_t code_point_border(std::string_view text, size_t offset) {
  if (offset >= text.size()) return text.size();
  for (size_t back = 0; back <= 3 && back <= offset; ++back) {
    const size_t start = offset - back;
    if (continues(static_cast<unsigned char>(text[start]))) continue;
    const CodePoint point = read_code_point(text, start);
    const bool covers = point.value >= 0 && start + static_cast<size_t>(point.bytes) > offset;
    return covers ? start : offset;
  }
  return offset;
}

size_t whole_code_points(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (continues(byte)) continue;
    const size_t wanted = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return wanted > back ? text.size() - back : text.size();
  }
  return text.size();
}

std::string place_in_text(std::string_view text, size_t offset) {
  const auto lines = std::count(text.begin(), text.begin() + static_cast<int64_t>(offset), '\n');
  return fmt::format("byte {} (line {})", offset, lines + 1);
}

}  // namespace tapemeasure
