// SPDX-License-Identifier: MIT
// The table terms of calls with very few queries, as in generation: each pair's product is taken
// from the table where it lies. Laying out the table by offset would cost more than all of them.
#include <algorithm>

#include "core/backends/cpu/attention_head.h"
#include "core/backends/cpu/block_loops.h"

namespace tapemeasure::cpu {

namespace {

/// Calls body(column, count, row, step): for `count` columns from `column` on the map's rows are
/// row, row + step, ... Columns [begin, end), column c has offset `offset` + c.
template <class Body>
void for_runs(const OffsetMap& map, int64_t offset, int64_t begin, int64_t end, const Body& body) {
  for (int64_t column = begin; column < end;) {
    const int64_t row = row_of(map, offset + column);
    int64_t next = column + 1, step = 0;
    if (next < end) step = row_of(map, offset + next) - row;
    while (next < end && row_of(map, offset + next) == row + step * (next - column)) ++next;
    body(column, next - column, row, step);
    column = next;
  }
}

TableView<float> view(const OffsetTable<Tensor>& terms, int64_t width) {
  return {terms.table.data<float>(), terms.table.shape(), terms.layout, width};
}

}  // namespace

void HeadWork::add_query_table(const Strip& strip, const float* a) {
  const OffsetTable<Tensor>& terms = plan_.call.terms.query_table;
  const int64_t width = plan_.shape.width;
  const TableView<float> table = view(terms, width);
  for (int64_t i = 0; i < strip.rows; ++i) {
    float* logits = x.data + i * x.stride;
    for_runs(terms.map, strip.offset - i, strip.low[i], strip.high[i],
             [&](int64_t column, int64_t count, int64_t row, int64_t step) {
               // Clipped offsets share a row.
               const int64_t products = step == 0 ? 1 : count;
               dot_rows(table.at(head, row), step * table.row_stride, a + i * width, 0, products,
                        width, products_);
               std::fill(products_ + products, products_ + count, products_[0]);
               for (int64_t n = 0; n < count; ++n) logits[column + n] += products_[n];
             });
  }
}

void HeadWork::add_key_table(const Strip& strip) {
  const OffsetTable<Tensor>& terms = plan_.call.terms.key_table;
  const int64_t width = plan_.shape.width;
  const TableView<float> table = view(terms, width);
  const auto scale = static_cast<float>(plan_.call.terms.scale);
  for (int64_t i = 0; i < strip.rows; ++i) {
    float* logits = x.data + i * x.stride;
    for_runs(terms.map, strip.offset - i, strip.low[i], strip.high[i],
             [&](int64_t column, int64_t count, int64_t row, int64_t step) {
               dot_rows(plan_.k.at(sequence, strip.begin + column, head), plan_.k.columns,
                        table.at(head, row), step * table.row_stride, count, width, products_);
               for (int64_t n = 0; n < count; ++n) logits[column + n] += scale * products_[n];
             });
  }
}

}  // namespace tapemeasure::cpu
