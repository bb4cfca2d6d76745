// SPDX-License-Identifier: MIT
// Numbers, booleans and texts to and from YAML scalars. Private to core/config.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tapemeasure {

/// "64", "0x40", "1e4": anything whose value is whole. `too_large` is set where 64 bits are too
/// few.
std::optional<int64_t> parse_integer(const std::string& text, bool& too_large);
/// A finite number in decimal. `too_large` is set where a double cannot hold it.
std::optional<double> parse_real(const std::string& text, bool& too_large);
/// true, yes, on and their opposites.
std::optional<bool> parse_boolean(const std::string& text);

/// Shortest text that reads back to the same bits, and as a number in every YAML ("1.0e-05").
std::string format_real(double value);
inline std::string format_boolean(bool value) { return value ? "true" : "false"; }
/// Plain where any YAML reads it back as this text, else in double quotes.
std::string format_text(const std::string& text);
/// "[a, b]".
std::string format_list(const std::vector<std::string>& items);

}  // namespace tapemeasure
