// SPDX-License-Identifier: MIT
// How often each word occurs in a text that is seen piece by piece.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tapemeasure {

class WordCounts {
 public:
  using Word = std::pair<const std::string, int64_t>;

  /// Once its words would take more than `most_bytes`, no new ones are added; those that are there
  /// are counted on.
  explicit WordCounts(size_t most_bytes = std::numeric_limits<size_t>::max())
      : most_bytes_(most_bytes) {}

  void add(std::string_view word, int64_t count = 1);
  /// As if all words that `other` was given were given to this one now.
  void merge(const WordCounts& other);
  /// By falling count, ties by bytes.
  std::vector<const Word*> sorted() const;
  bool empty() const { return order_.empty(); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> counts_;
  std::vector<const Word*> order_;  // as first seen, so that a merge adds them in this order
  size_t bytes_ = 0, most_bytes_;
  bool full_ = false;
};

}  // namespace tapemeasure
