// SPDX-License-Identifier: MIT
// One global batch, and where batches come from.
#pragma once

#include <cstdint>

#include "core/tensor.h"

namespace tapemeasure {

/// A value: nothing of it is shared with later batches unless it is reused.
struct Batch {
  Tensor tokens_BT, targets_BT;  ///< i32; target -1: not scored
  Tensor lengths_B;              ///< i32, encoders: tokens at or beyond are padding; or undefined
  Tensor prefix_B;               ///< i32, decoders: tokens before see each other; or undefined
  Tensor source_BS;              ///< i32, what an encoder-decoder's encoder reads; or undefined
  Tensor source_lengths_B;       ///< i32; or undefined
  int64_t scored = 0;            ///< targets >= 0
  double epoch = 0;              ///< epochs begun, as a number with fractions, at the batch's start
  bool restarts = false;         ///< lanes: memory is empty at this batch's start
};

/// Batches as a pure function of the step: no cursor, so seeking is O(1) and resuming is `at`.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// Fills `batch` with the batch of `step`; its tensors are made if they are not there yet.
  virtual void at(int64_t step, Backend& backend, Batch& batch) const = 0;
};

/// Batches that come to an end, as an evaluation needs them: steps 0 ... batches() - 1.
class FiniteSource : public BatchSource {
 public:
  virtual int64_t batches() const = 0;
};

/// The elements of an i32 tensor of this shape, which is made anew where it is another: batches of
/// one shape share their memory.
int32_t* integers(Tensor& tensor, Backend& backend, const Shape& shape);

}  // namespace tapemeasure
