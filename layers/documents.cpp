// SPDX-License-Identifier: MIT
#include "layers/documents.h"

#include <algorithm>

#include "core/backend.h"

namespace tapemeasure {

Tensor DocumentEnds::numbers(Backend& backend,
                             std::span<const std::span<const int32_t>> sequences) const {
  const Shape shape{static_cast<int64_t>(sequences.size()),
                    static_cast<int64_t>(sequences[0].size())};
  const Tensor numbers_BT = empty(backend, shape, DType::kI32);
  int32_t* number = numbers_BT.data<int32_t>();
  for (const std::span<const int32_t> tokens : sequences) {
    int32_t document = 0;
    size_t begin = 0;  // of the document: ends do not overlap
    for (size_t t = 0; t < tokens.size(); ++t) {
      *number++ = document;
      const size_t read = t + 1 - begin;
      if (read < end_.size()) continue;
      const auto tail = tokens.subspan(t + 1 - end_.size(), end_.size());
      if (!std::equal(tail.begin(), tail.end(), end_.begin())) continue;
      ++document;
      begin = t + 1;
    }
  }
  return numbers_BT;
}

}  // namespace tapemeasure
