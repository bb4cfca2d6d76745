// SPDX-License-Identifier: MIT
#include "layers/memory.h"

#include <algorithm>

#include "core/backend.h"
#include "core/error.h"

namespace tapemeasure {

Memory::Memory(Backend& backend, DType dtype, const MemoryShape& shape)
    : backend_(backend),
      dtype_(dtype),
      shape_(shape),
      now_(static_cast<size_t>(shape.layers)),
      next_(static_cast<size_t>(shape.layers)) {}

void Memory::clear() {
  rows_ = next_rows_ = 0;
  std::fill(now_.begin(), now_.end(), Tensor());
  std::fill(next_.begin(), next_.end(), Tensor());
}

Tensor Memory::layer(int64_t layer, int64_t first, int64_t count) const {
  if (rows_ == 0) return {};
  return now_[static_cast<size_t>(layer)].rows(first, count);
}

void Memory::keep(int64_t layer, int64_t first, const Tensor& x_BTD) {
  const int64_t batch = x_BTD.shape()[0], fresh = x_BTD.shape()[1];
  check<ShapeError>(first + batch <= shape_.sequences && x_BTD.shape()[2] == shape_.width,
                    "a memory of {} sequences of width {} cannot keep {} at sequence {}",
                    shape_.sequences, shape_.width, x_BTD.shape(), first);
  next_rows_ = std::min(shape_.length, rows_ + fresh);
  if (next_rows_ == 0) return;
  Tensor& next = next_[static_cast<size_t>(layer)];
  if (!next.defined()) {
    next = empty(backend_, {shape_.sequences, next_rows_, shape_.width}, dtype_);
  }
  const int64_t taken = std::min(fresh, next_rows_), old = next_rows_ - taken;
  for (int64_t b = 0; b < batch; ++b) {
    if (old > 0) {
      backend_.scale(1, now_[static_cast<size_t>(layer)].sequence_rows(first + b, rows_ - old, old),
                     next.sequence_rows(first + b, 0, old));
    }
    backend_.scale(1, x_BTD.sequence_rows(b, fresh - taken, taken),
                   next.sequence_rows(first + b, old, taken));
  }
}

void Memory::advance() {
  rows_ = next_rows_;
  now_.swap(next_);
  std::fill(next_.begin(), next_.end(), Tensor());
}

void Memory::visit_state(StateVisitor& v) {
  v.integer("memory/rows", rows_);
  if (v.loading()) {
    for (Tensor& layer : now_) {
      layer =
          rows_ == 0 ? Tensor() : empty(backend_, {shape_.sequences, rows_, shape_.width}, dtype_);
    }
  }
  for (size_t layer = 0; rows_ > 0 && layer < now_.size(); ++layer) {
    v.tensor("memory/" + std::to_string(layer), now_[layer]);
  }
}

}  // namespace tapemeasure
