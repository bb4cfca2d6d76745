// SPDX-License-Identifier: MIT
// Where one document of a text ends and the next begins: a mask lets no token see another's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor.h"

namespace tapemeasure {

class DocumentEnds {
 public:
  /// The tokens that close a document, and belong to it. Empty: a text is one document.
  explicit DocumentEnds(std::vector<int32_t> end = {}) : end_(std::move(end)) {}
  bool any() const { return !end_.empty(); }
  /// The documents of sequences of equal length, i32 [B, T], counted from 0 in each.
  Tensor numbers(Backend& backend, std::span<const std::span<const int32_t>> sequences) const;

 private:
  std::vector<int32_t> end_;
};

}  // namespace tapemeasure
