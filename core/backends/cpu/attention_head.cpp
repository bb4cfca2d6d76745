// SPDX-License-Identifier: MIT
#include "core/backends/cpu/attention_head.h"

#include "core/backends/cpu/block_gemm.h"
#include "core/backends/cpu/block_loops.h"

namespace tapemeasure::cpu {

namespace {
const OffsetTable<Tensor> kNoTable;
}

AttentionPlan::AttentionPlan(Backend& memory, const AttentionCall& call, bool forward_only)
    : call(call),
      shape(call.shape),
      direct(forward_only && shape.queries <= kFewQueries),
      q(call.q, shape.width),
      k(call.k, shape.width),
      v(call.v, shape.width),
      range(reachable_offsets(call)),
      query_table(memory, direct ? kNoTable : call.terms.query_table, shape, range, 0),
      value_table(memory, call.terms.value_table, shape, range, 0),
      key_table(memory, direct ? kNoTable : call.terms.key_table, shape, range, 2 * kStrip - 1),
      strips((shape.queries + kStrip - 1) / kStrip) {
  if (call.terms.bias.defined()) {
    // A little longer, since vectors may read past the end.
    bias = empty(memory, {shape.heads, range.last - range.first + 1 + 16}, DType::kF32);
  }
  for (int64_t b = 0; b < shape.batch; ++b) {
    for (int64_t s = 0; s < strips; ++s) longest = std::max(longest, strip(b, s).columns());
    const AttentionMask& mask = call.mask;
    const bool differ = mask.key_begin.defined() || mask.key_end.defined() || mask.prefix.defined();
    if (!differ) break;
  }
}

void AttentionPlan::fill(int64_t head) const {
  if (head < query_table.heads()) query_table.fill(head, 1);
  if (head < value_table.heads()) value_table.fill(head, 1);
  if (head < key_table.heads()) key_table.fill(head, static_cast<float>(call.terms.scale));
  if (!bias.defined()) return;
  const Tensor& table = call.terms.bias;
  const float* row = table.data<float>() + head * table.shape()[1];
  float* by_offset = bias.data<float>() + head * bias.shape()[1];
  for (int64_t r = range.first; r <= range.last; ++r) {
    by_offset[r - range.first] = row[row_of(call.terms.bias_map, r)];
  }
}

Strip AttentionPlan::strip(int64_t sequence, int64_t index) const {
  const AttentionMask& mask = call.mask;
  Strip strip;
  strip.first = index * kStrip;
  strip.rows = std::min(kStrip, shape.queries - strip.first);
  int64_t first_key = 0, last_key = shape.keys;
  if (mask.key_begin.defined()) {
    first_key = std::max<int64_t>(0, mask.key_begin.data<int32_t>()[sequence]);
  }
  if (mask.key_end.defined()) {
    last_key = std::min<int64_t>(last_key, mask.key_end.data<int32_t>()[sequence]);
  }
  const int64_t prefix = mask.prefix.defined() ? mask.prefix.data<int32_t>()[sequence] : 0;
  int64_t least = shape.keys, most = 0;
  for (int64_t i = 0; i < strip.rows; ++i) {
    const int64_t own = shape.first_query + strip.first + i - shape.first_key;
    int64_t low = first_key, high = last_key;
    if (mask.causal) high = std::min(high, std::max(own + 1, prefix));
    if (mask.window > 0) {
      low = std::max(low, own - mask.window + 1);
      high = std::min(high, own + mask.window);
    }
    if (low >= high) low = high = 0;
    strip.low[i] = low;
    strip.high[i] = high;
    if (low == high) continue;
    least = std::min(least, low);
    most = std::max(most, high);
  }
  if (least < most) {
    strip.begin = least / kStrip * kStrip;
    strip.end = std::min(shape.keys, round_up(most, kStrip));
  }
  strip.offset = shape.first_key + strip.begin - shape.first_query - strip.first;
  strip.first_offset = strip.offset + kStrip + strip.columns();
  strip.last_offset = strip.offset - kStrip;
  for (int64_t i = 0; i < strip.rows; ++i) {
    if (strip.low[i] == strip.high[i]) continue;
    strip.low[i] -= strip.begin;
    strip.high[i] -= strip.begin;
    strip.first_offset = std::min(strip.first_offset, strip.offset + strip.low[i] - i);
    strip.last_offset = std::max(strip.last_offset, strip.offset + strip.high[i] - 1 - i);
  }
  return strip;
}

StripDropout AttentionPlan::dropout(const Strip& strip, int64_t sequence, int64_t head,
                                    uint32_t* words) const {
  const Dropout& how = call.dropout;
  if (!how.active()) return {};
  StripDropout dropout;
  dropout.active = true;
  dropout.key = how.key;
  dropout.sequence = static_cast<uint64_t>(how.first_sequence + sequence);
  dropout.first =
      dropout_element(head, shape.first_query + strip.first, shape.first_key + strip.begin);
  dropout.threshold = how.threshold();
  dropout.factor = static_cast<float>(1 / (1 - how.rate));
  dropout.words = words;
  return dropout;
}

ColumnRange AttentionPlan::columns(const Strip& strip, const OffsetColumns& table) const {
  const int64_t first = std::max(strip.first_offset, table.first());
  const int64_t last = std::min(strip.last_offset, table.last());
  return {table.column(first), std::max<int64_t>(0, last - first + 1), first};
}

HeadWork::HeadWork(const AttentionPlan& plan, Scratch& scratch) : plan_(plan) {
  const int64_t width = plan.shape.width;
  x = take_matrix(scratch);
  queries = scratch.take(kStrip * width);
  const bool has_query_table = plan.call.terms.query_table.table.defined();
  position_queries = has_query_table ? scratch.take(kStrip * width) : nullptr;
  if (plan.key_table) {
    // Room before for what a block skips.
    offsets = scratch.take(kStrip * (kOffsetStride + 1));
    if (offsets) offsets += kStrip;
  }
  words = plan.call.dropout.active()
              ? reinterpret_cast<uint32_t*>(scratch.take(plan.longest + 2 * kStrip))
              : nullptr;
  transposed_keys_ = few_queries() ? nullptr : scratch.take(width * transposed_stride());
  below = scratch.take(kStrip);
  above = scratch.take(kStrip);
  left_ = plan.key_table ? scratch.take(plan.shape.keys) : nullptr;
  right_ = plan.key_table ? scratch.take(plan.shape.keys) : nullptr;
  products_ = plan.direct ? scratch.take(plan.longest) : nullptr;
}

StripMatrix HeadWork::take_matrix(Scratch& scratch) const {
  StripMatrix matrix;
  if (plan_.has_tables()) {
    matrix.before = kRoomBefore;
    matrix.after = kRoomAfter;
  }
  // Not a power of two: rows would share cache sets.
  matrix.stride = round_up(plan_.longest, 16) + 16 + matrix.before + matrix.after;
  float* data = scratch.take(matrix.stride * (kStrip + 1));
  matrix.data = data ? data + matrix.before : nullptr;
  return matrix;
}

void HeadWork::transpose_rows(const HeadView<float>& rows, float* to) const {
  if (!to) return;
  transpose(rows.at(sequence, 0, head), rows.columns, plan_.shape.keys, plan_.shape.width, to,
            transposed_stride());
}

void HeadWork::begin(int64_t new_sequence, int64_t new_head) {
  sequence = new_sequence;
  head = new_head;
  transpose_rows(plan_.k, transposed_keys_);
  const OffsetColumns& table = plan_.key_table;
  if (!table) return;
  const float* keys = plan_.k.at(sequence, 0, head);
  const int64_t count = plan_.shape.keys, width = plan_.shape.width;
  if (table.ends_before()) {
    const float* row = table.rows(head, table.column(table.first()));
    dot_rows(keys, plan_.k.columns, row, 0, count, width, left_);
  }
  if (table.ends_after()) {
    const float* row = table.rows(head, table.column(table.last()));
    dot_rows(keys, plan_.k.columns, row, 0, count, width, right_);
  }
}

void HeadWork::row_products(const Strip& strip, const float* a, int64_t a_stride,
                            const HeadView<float>& rows, const float* transposed,
                            const StripMatrix& y) const {
  const int64_t width = plan_.shape.width;
  if (!transposed) {
    for (int64_t i = 0; i < strip.rows; ++i) {
      dot_rows(rows.at(sequence, strip.begin, head), rows.columns, a + i * a_stride, 0,
               strip.columns(), width, y.data + i * y.stride);
    }
    return;
  }
  for_tiles(strip, [&](const Tile& tile) {
    const BlockProduct how{tile.rows, tile.columns, width, a_stride, transposed_stride(), y.stride};
    block_gemm(how, a + tile.row * a_stride, transposed + strip.begin + tile.column,
               y.data + tile.row * y.stride + tile.column);
  });
}

void HeadWork::table_products(const Strip& strip, const OffsetColumns& table, const float* a,
                              int64_t a_stride, const StripMatrix& y, RowTerms& terms) {
  const int64_t width = plan_.shape.width;
  const ColumnRange reached = plan_.columns(strip, table);
  // One more than the row stride: column c of the product then lies on the diagonal of its offset.
  const int64_t stride = y.stride + 1;
  float* diagonals = y.data + reached.first_offset - strip.offset;
  for_table_tiles(strip, reached, [&](const Tile& tile) {
    const BlockProduct how{
        tile.rows, round_up(tile.columns, 16), width, a_stride, table.stride(), stride, false,
        true};
    block_gemm(how, a + tile.row * a_stride, table.transposed(head, reached.first + tile.column),
               diagonals + tile.row * stride + tile.column);
  });
  terms.first_diagonal = table.first() - strip.offset;
  terms.last_diagonal = table.last() - strip.offset;
  if (table.ends_before()) {
    const float* row = table.rows(head, table.column(table.first()));
    dot_rows(a, a_stride, row, 0, strip.rows, width, below);
    terms.below = below;
  }
  if (table.ends_after()) {
    const float* row = table.rows(head, table.column(table.last()));
    dot_rows(a, a_stride, row, 0, strip.rows, width, above);
    terms.above = above;
  }
}

void HeadWork::sum_table_ends(const Strip& strip, const OffsetColumns& table,
                              const StripMatrix& y) {
  if (!table.ends_before() && !table.ends_after()) return;
  RowTerms ends;
  ends.first_diagonal = table.first() - strip.offset;
  ends.last_diagonal = table.last() - strip.offset;
  sum_ends(strip, y, ends, below, above);
}

void HeadWork::add_table_rows(const Strip& strip, const OffsetColumns& table, const StripMatrix& y,
                              float* to) {
  const int64_t width = plan_.shape.width;
  const ColumnRange reached = plan_.columns(strip, table);
  const float* diagonals = y.data + reached.first_offset - strip.offset;
  for_table_tiles(strip, reached, [&](const Tile& tile) {
    const BlockProduct how{tile.rows, width, tile.columns, y.stride + 1, width, width, false, true};
    block_gemm(how, diagonals + tile.row * how.a_stride + tile.column,
               table.rows(head, reached.first + tile.column), to + tile.row * width);
  });
  sum_table_ends(strip, table, y);
  const auto add = [&](const float* sums, int64_t offset) {
    add_outer(sums, table.rows(head, table.column(offset)), strip.rows, width, to, width);
  };
  if (table.ends_before()) add(below, table.first());
  if (table.ends_after()) add(above, table.last());
}

void HeadWork::key_blocks(const Strip& strip, RowTerms& terms) const {
  const OffsetColumns& table = plan_.key_table;
  int64_t left = 0, right = strip.columns();
  if (table.ends_before()) {
    const auto last_offset = [&](int64_t column) {
      return strip.offset + std::min(column + kStrip, strip.columns()) - 1;
    };
    while (left < strip.columns() && last_offset(left) <= table.first()) left += kStrip;
  }
  if (table.ends_after()) {
    right = left;
    while (right < strip.columns() && strip.offset + right - (strip.rows - 1) < table.last()) {
      right += kStrip;
    }
  }
  terms.left_end = std::min(left, strip.columns());
  terms.right_begin = std::min(right, strip.columns());
  if (table.ends_before()) terms.left = left_ + strip.begin;
  if (table.ends_after()) terms.right = right_ + strip.begin;
}

KeyBlock HeadWork::key_block(const Strip& strip, int64_t column) const {
  KeyBlock block;
  block.keys = std::min(kStrip, strip.columns() - column);
  const int64_t least = strip.offset + column - (strip.rows - 1);
  const int64_t first = std::max(least, strip.first_offset);
  const int64_t last = std::min(strip.offset + column + block.keys - 1, strip.last_offset);
  block.skipped = first - least;
  block.count = std::max<int64_t>(0, last - first + 1);
  block.table_column = plan_.key_table.column(first);
  return block;
}

void HeadWork::key_table_products(const Strip& strip, RowTerms& terms) {
  const OffsetColumns& table = plan_.key_table;
  key_blocks(strip, terms);
  for (int64_t column = terms.left_end; column < terms.right_begin; column += kStrip) {
    const KeyBlock block = key_block(strip, column);
    const BlockProduct how{block.keys,        round_up(block.count, 16),
                           plan_.shape.width, plan_.k.columns,
                           table.stride(),    kOffsetStride};
    block_gemm(how, plan_.k.at(sequence, strip.begin + column, head),
               table.transposed(head, block.table_column), offsets);
    transpose(offsets - block.skipped, kOffsetStride + 1, block.keys, strip.rows,
              x.data + (strip.rows - 1) * x.stride + column, -x.stride, Write::kAdd);
  }
}

void HeadWork::logits(const Strip& strip) {
  const AttentionTermsOf<Tensor>& given = plan_.call.terms;
  const int64_t width = plan_.shape.width;
  const auto of_head = [&](const Tensor& bias) {
    return bias.defined() ? bias.data<float>() + head * width : nullptr;
  };
  const float* q = plan_.q.at(sequence, strip.first, head);
  const auto scale = static_cast<float>(given.scale);
  scale_rows(q, plan_.q.columns, of_head(given.content_bias), scale, strip.rows, width, queries,
             width);
  row_products(strip, queries, width, plan_.k, transposed_keys_, x);
  RowTerms terms;
  if (given.query_table.table.defined()) {
    scale_rows(q, plan_.q.columns, of_head(given.position_bias), scale, strip.rows, width,
               position_queries, width);
    if (plan_.direct) {
      add_query_table(strip, position_queries);
    } else {
      table_products(strip, plan_.query_table, position_queries, width, x, terms);
    }
  }
  if (plan_.direct && given.key_table.table.defined()) add_key_table(strip);
  if (plan_.key_table) key_table_products(strip, terms);
  if (plan_.bias.defined()) {
    terms.bias =
        plan_.bias.data<float>() + head * plan_.bias.shape()[1] + strip.offset - plan_.range.first;
  }
  if (plan_.call.mask.documents.defined()) {
    const int32_t* documents =
        plan_.call.mask.documents.data<int32_t>() + sequence * plan_.shape.keys;
    terms.documents = documents + strip.begin;
    terms.query_documents =
        documents + plan_.shape.first_query + strip.first - plan_.shape.first_key;
  }
  add_terms(strip, terms, x);
}

}  // namespace tapemeasure::cpu
