// SPDX-License-Identifier: MIT
// Where one document of a text ends and the next begins: a mask lets no token see another's.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tapemeasure {

class DocumentEnds {
 public:
  /// The tokens that close a document, and belong to it. Empty: a text is one document.
  explicit DocumentEnds(std::vector<int32_t> end = {}) : end_(std::move(end)) {}
  bool any() const { return !end_.empty(); }
  /// Writes the document of each token of one sequence, counted from 0. `numbers` is as long as
  /// `tokens`.
  void number(std::span<const int32_t> tokens, std::span<int32_t> numbers) const;

 private:
  std::vector<int32_t> end_;
};

}  // namespace tapemeasure
