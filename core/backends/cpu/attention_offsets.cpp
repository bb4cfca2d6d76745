// SPDX-License-Identifier: MIT
#include "core/backends/cpu/attention_offsets.h"

#include "core/backends/cpu/block_loops.h"

namespace tapemeasure::cpu {

OffsetRange reachable_offsets(const AttentionCall& call) {
  const AttentionShape& s = call.shape;
  const int64_t least = s.first_key - (s.first_query + s.queries - 1);
  OffsetRange range{least, s.first_key + s.keys - 1 - s.first_query};
  if (call.mask.causal && !call.mask.prefix.defined())
    range.last = std::min<int64_t>(range.last, 0);
  if (call.mask.window > 0) {
    range.first = std::max(range.first, 1 - call.mask.window);
    range.last = std::min(range.last, call.mask.window - 1);
  }
  // No pair is visible: any offset of the call will do.
  if (range.first > range.last) return {least, least};
  return range;
}

OffsetColumns::OffsetColumns(Backend& memory, const OffsetTable<Tensor>& terms,
                             const AttentionShape& shape, const OffsetRange& range,
                             int64_t repeats) {
  if (!terms.table.defined()) return;
  table_ = {terms.table.data<float>(), terms.table.shape(), terms.layout, shape.width};
  map_ = terms.map;
  range_ = middle_ = range;
  width_ = shape.width;
  heads_ = terms.layout == TableLayout::kShared ? 1 : shape.heads;
  const int64_t before = row_of(map_, range.first), after = row_of(map_, range.last);
  while (middle_.first < range.last && row_of(map_, middle_.first + 1) == before) ++middle_.first;
  while (middle_.last > middle_.first && row_of(map_, middle_.last - 1) == after) --middle_.last;
  repeats_before_ = std::min(repeats, middle_.first - range.first);
  repeats_after_ = std::min(repeats, range.last - middle_.last);
  stride_ = round_up(meant(), 16) + 16;
  copies_ = empty(memory, {heads_, 2, stride_ * width_}, DType::kF32);
}

void OffsetColumns::fill(int64_t head, float factor) const {
  float* rows = copies_.data<float>() + head * 2 * stride_ * width_;
  for (int64_t column = 0; column < meant(); ++column) {
    scale_rows(table_.at(head, row(column)), 0, nullptr, factor, 1, width_, rows + column * width_,
               0);
  }
  std::fill(rows + meant() * width_, rows + stride_ * width_, 0.0f);
  transpose(rows, width_, stride_, width_, rows + stride_ * width_, stride_);
}

void OffsetColumns::scatter(const float* sums, float factor, const TableView<float>& gradient,
                            int64_t head) const {
  for (int64_t column = 0; column < meant(); ++column) {
    scale_rows(sums + column * width_, 0, nullptr, factor, 1, width_,
               gradient.at(head, row(column)), 0, Write::kAdd);
  }
}

}  // namespace tapemeasure::cpu
