// SPDX-License-Identifier: MIT
#include "data/word_counts.h"

#include <algorithm>

namespace tapemeasure {

void WordCounts::add(std::string_view word, int64_t count) {
  const auto found = counts_.find(word);
  if (found != counts_.end()) {
    found->second += count;
    return;
  }
  full_ = full_ || bytes_ + word.size() > most_bytes_;
  if (full_) return;
  bytes_ += word.size();
  order_.push_back(&*counts_.emplace(word, count).first);
}

void WordCounts::merge(const WordCounts& other) {
  for (const Word* word : other.order_) add(word->first, word->second);
}

std::vector<const WordCounts::Word*> WordCounts::sorted() const {
  std::vector<const Word*> words = order_;
  std::sort(words.begin(), words.end(), [](const Word* a, const Word* b) {
    return a->second != b->second ? a->second > b->second : a->first < b->first;
  });
  return words;
}

}  // namespace tapemeasure
