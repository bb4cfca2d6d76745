// SPDX-License-Identifier: MIT
// "Did you mean ...?": the candidate that the fewest slips of the finger turn into the word.
#include <algorithm>
#include <string>
#include <vector>

#include "core/config/config.h"

namespace tapemeasure {
namespace {

// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  // A third of the letters may be wrong; a word of garbage is near to nothing.
  constexpr size_t kLongestWord = 64;
  if (word.size() > kLongestWord) return "";
  size_t best = std::max<size_t>(1, (word.size() + 1) / 3) + 1;
  std::string result;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    // One letter for another is no slip: "x" is not a misspelt "y".
    if (distance >= best || distance >= std::max(word.size(), candidate.size())) continue;
    best = distance;
    result = candidate;
  }
  return result;
}

}  // namespace tapemeasure
