// SPDX-License-Identifier: MIT
#include "core/config/scalar.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "core/error.h"

namespace tapemeasure {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Words that some YAML reads as something else than a text.
bool is_reserved(const std::string& text) {
  const std::string word = lower(text);
  for (const char* other : {"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
    if (word == other) return true;
  return false;
}

bool is_plain(const std::string& text) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || !(is_letter(text[0]) || text[0] == '_' || text[0] == '/')) return false;
  for (char c : text) {
    const bool safe = static_cast<unsigned char>(c) < 0x80 &&
                      (is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == '/');
    if (!safe) return false;
  }
  return !is_reserved(text);
}

}  // namespace

std::optional<int64_t> parse_integer(const std::string& text, bool& too_large) {
  too_large = false;
  const bool negative = !text.empty() && text[0] == '-';
  const std::string digits = text.substr(negative || (!text.empty() && text[0] == '+') ? 1 : 0);
  const bool hex = digits.size() > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
  const char* first = digits.data() + (hex ? 2 : 0);
  const char* end = digits.data() + digits.size();
  uint64_t magnitude = 0;
  const auto [stop, error] = std::from_chars(first, end, magnitude, hex ? 16 : 10);
  if (stop == end && error != std::errc::invalid_argument) {
    const uint64_t limit = static_cast<uint64_t>(INT64_MAX) + (negative ? 1 : 0);
    too_large = error == std::errc::result_out_of_range || magnitude > limit;
    if (too_large) return std::nullopt;
    return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  }
  const std::optional<double> real = parse_real(text, too_large);
  if (!real || std::floor(*real) != *real) return std::nullopt;
  // Beyond 2^53 a real no longer names one integer.
  too_large = std::abs(*real) > 9007199254740992.0;
  if (too_large) return std::nullopt;
  return static_cast<int64_t>(*real);
}

std::optional<double> parse_real(const std::string& text, bool& too_large) {
  too_large = false;
  const size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  // Not infinity, not nan: those begin with a letter, or with a dot before one.
  const size_t digit = text.size() > sign && text[sign] == '.' ? sign + 1 : sign;
  if (digit >= text.size() || text[digit] < '0' || text[digit] > '9') return std::nullopt;
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + sign, end, value);
  if (stop != end) return std::nullopt;
  too_large = error == std::errc::result_out_of_range;
  if (too_large || error != std::errc()) return std::nullopt;
  return text[0] == '-' ? -value : value;
}

std::optional<bool> parse_boolean(const std::string& text) {
  const std::string word = lower(text);
  if (word == "true" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "no" || word == "off") return false;
  return std::nullopt;
}

std::string format_real(double value) {
  check<Error>(std::isfinite(value), "a config cannot hold {}", value);
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), result.ptr);
  // YAML 1.1 takes "1e-05" for a text.
  const size_t exponent = text.find('e');
  if (exponent != std::string::npos && text.find('.') == std::string::npos)
    text.insert(exponent, ".0");
  return text;
}

std::string format_text(const std::string& text) {
  if (is_plain(text)) return text;
  std::string result = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      result += '\\', result += c;
    else if (c == '\n')
      result += "\\n";
    else if (byte < 0x20 || byte == 0x7F)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += c;
  }
  return result + '"';
}

std::string format_list(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
}

}  // namespace tapemeasure
