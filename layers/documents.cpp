// SPDX-License-Identifier: MIT
#include "layers/documents.h"

#include <algorithm>

namespace tapemeasure {

void DocumentEnds::number(std::span<const int32_t> tokens, std::span<int32_t> numbers) const {
  int32_t document = 0;
  size_t begin = 0;  // of the document: ends do not overlap
  for (size_t t = 0; t < tokens.size(); ++t) {
    numbers[t] = document;
    const size_t read = t + 1 - begin;
    if (read < end_.size()) continue;
    const auto tail = tokens.subspan(t + 1 - end_.size(), end_.size());
    if (!std::equal(tail.begin(), tail.end(), end_.begin())) continue;
    ++document;
    begin = t + 1;
  }
}

}  // namespace tapemeasure
