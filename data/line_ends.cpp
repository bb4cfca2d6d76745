// SPDX-License-Identifier: MIT
#include "data/line_ends.h"

namespace tapemeasure {

namespace {
bool is_pair(std::string_view text, size_t at) {
  return text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n';
}
}  // namespace

std::string with_lf(std::string_view text) {
  std::string lines;
  lines.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    if (is_pair(text, at)) continue;
    lines += text[at] == '\r' ? '\n' : text[at];
  }
  return lines;
}

size_t bytes_behind_lf(std::string_view text, size_t count) {
  size_t at = 0;
  for (; count > 0; --count) at += is_pair(text, at) ? 2 : 1;
  return at;
}

}  // namespace tapemeasure
