// SPDX-License-Identifier: MIT
// Segment memory (Dai et al. 2019, "Transformer-XL", section 3.2): of every layer the last inputs
// of earlier segments, without gradient. Keys and values are made of them anew at each step. Before
// the first segment it is empty: there are no keys, not keys that are 0.
#pragma once

#include <cstdint>
#include <vector>

#include "core/state.h"
#include "core/tensor.h"

namespace tapemeasure {

struct MemoryShape {
  int64_t layers = 0, sequences = 0, width = 0;
  int64_t length = 0;  ///< most rows that are kept
};

class Memory {
 public:
  Memory(Backend& backend, DType dtype, const MemoryShape& shape);

  int64_t length() const { return shape_.length; }
  /// Rows that are there now: the same for every layer and sequence.
  int64_t rows() const { return rows_; }
  /// Forgets everything.
  void clear();
  /// A layer's rows of sequences [first, first + count): [count, rows, width], undefined when there
  /// are none.
  Tensor layer(int64_t layer, int64_t first, int64_t count) const;
  /// Says what a layer reads in this segment, for sequences from `first` on. What `layer` gives
  /// stays as it was until `advance`.
  void keep(int64_t layer, int64_t first, const Tensor& x_BTD);
  /// The segment is over for all sequences.
  void advance();
  /// "memory/LAYER".
  void visit_state(StateVisitor& v);

 private:
  Backend& backend_;
  DType dtype_;
  MemoryShape shape_;
  int64_t rows_ = 0, next_rows_ = 0;
  std::vector<Tensor> now_, next_;  // per layer, [sequences, rows, width]
};

/// Some sequences of a memory: those of one pass.
struct MemoryLanes {
  Memory* memory = nullptr;
  int64_t first_sequence = 0;
};

}  // namespace tapemeasure
