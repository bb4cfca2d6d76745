// SPDX-License-Identifier: MIT
// Line ends of a text: as they are, or all of them LF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tapemeasure {

enum class LineEnds { kRaw, kLf };
/// "raw", "lf".
inline constexpr const char* kLineEnds[] = {"raw", "lf"};

/// With one LF for each CRLF, and for each CR alone.
std::string with_lf(std::string_view text);
/// How many bytes of `text` the first `count` bytes of with_lf(text) come from.
size_t bytes_behind_lf(std::string_view text, size_t count);

}  // namespace tapemeasure
