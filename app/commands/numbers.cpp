// SPDX-License-Identifier: MIT
#include "app/commands/numbers.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

namespace tapemeasure {

NumberCheck number_between(double low, double high) {
  return [low, high](const std::string& text) -> std::string {
    double value = 0;
    const bool number = CLI::detail::lexical_cast(text, value);
    if (number && value >= low && value <= high) return "";
    return fmt::format("wants a number from {} to {}, got '{}'", low, high, text);
  };
}

NumberCheck whole_number_between(int64_t low, int64_t high) {
  return [low, high](const std::string& text) -> std::string {
    int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    const bool number = error == std::errc() && rest == end;
    if (number && value >= low && value <= high) return "";
    return fmt::format("wants a whole number from {} to {}, got '{}'", low, high, text);
  };
}

}  // namespace tapemeasure
