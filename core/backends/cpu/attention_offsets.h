// SPDX-License-Identifier: MIT
// Tables of position terms, laid out by offset. Whatever a map does, consecutive offsets become
// consecutive columns, so that a term of a strip is one product added along diagonals. Where the
// map ends in a constant (clipping), only one column stands for all offsets of that end.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/backend.h"
#include "core/backends/attention_views.h"
#include "core/backends/cpu/attention_rows.h"

namespace tapemeasure::cpu {

constexpr int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/// Offsets [first, last], both included.
struct OffsetRange {
  int64_t first = 0, last = 0;
};

/// The offsets that visible pairs of a call can have.
OffsetRange reachable_offsets(const AttentionCall& call);

class OffsetColumns {
 public:
  OffsetColumns() = default;
  /// Up to `repeats` more columns on both sides repeat the ends, as far as `range` goes, so that
  /// any block of pairs that touches the middle finds all its offsets.
  OffsetColumns(Backend& memory, const OffsetTable<Tensor>& terms, const AttentionShape& shape,
                const OffsetRange& range, int64_t repeats);
  explicit operator bool() const { return bool(table_); }

  /// Copies head h (0 if shared) of the table, times a factor.
  void fill(int64_t head, float factor) const;
  int64_t heads() const { return heads_; }

  /// Offsets below first() share its row, offsets above last() share its.
  int64_t first() const { return middle_.first; }
  int64_t last() const { return middle_.last; }
  bool ends_before() const { return range_.first < middle_.first; }
  bool ends_after() const { return range_.last > middle_.last; }

  int64_t column(int64_t offset) const { return offset - middle_.first + repeats_before_; }
  /// Columns, zero ones at the end included: a multiple of 16, at least 16 more than meant.
  int64_t stride() const { return stride_; }
  /// [width, stride], from `column` on.
  const float* transposed(int64_t head, int64_t column) const {
    return copy(head) + stride_ * width_ + column;
  }
  /// [stride, width], from `column` on.
  const float* rows(int64_t head, int64_t column) const { return copy(head) + column * width_; }

  /// Adds factor * sums [stride, width] to the rows of a gradient's head.
  void scatter(const float* sums, float factor, const TableView<float>& gradient,
               int64_t head) const;

 private:
  const float* copy(int64_t head) const {
    return copies_.data<float>() + (heads_ == 1 ? 0 : head) * 2 * stride_ * width_;
  }
  int64_t row(int64_t column) const {
    return row_of(
        map_, std::clamp(column - repeats_before_ + middle_.first, middle_.first, middle_.last));
  }
  int64_t meant() const {
    return middle_.last - middle_.first + 1 + repeats_before_ + repeats_after_;
  }

  TableView<float> table_;
  OffsetMap map_;
  OffsetRange range_, middle_;
  int64_t repeats_before_ = 0, repeats_after_ = 0, stride_ = 0, heads_ = 0, width_ = 0;
  Tensor copies_;  // per head: rows, then their transpose
};

}  // namespace tapemeasure::cpu
