// SPDX-License-Identifier: MIT
#include <omp.h>

#include "core/backends/cpu/attention.h"
#include "core/backends/cpu/attention_head.h"
#include "core/backends/cpu/attention_sums.h"
#include "core/backends/cpu/block_gemm.h"
#include "core/backends/cpu/block_loops.h"
#include "core/backends/cpu/f32.h"

namespace tapemeasure::cpu {

namespace {

class BackwardWork : public HeadWork {
 public:
  BackwardWork(const AttentionPlan& plan, const GradientSums& sums, Scratch& scratch);
  void run(const BackwardUnit& unit, const Tensor& out, const Tensor& log_sum_exp,
           const Tensor& dout);

 private:
  void begin_sequence(int64_t b);
  void end_sequence();
  void strip_gradients(const Strip& strip, const float* out, const float* log_sum_exp,
                       const float* dout);
  /// to[key] += sum over rows of y[i, key] * a[i, :]
  void add_to_keys(const Strip& strip, const StripMatrix& y, const float* a, int64_t a_stride,
                   const GradientSums::Rows& to) const;
  /// The gradient of a table's columns: part += y's diagonals, transposed, times a. `below` and
  /// `above` must hold the sums of y's ends.
  void add_to_table(const Strip& strip, const OffsetColumns& table, const StripMatrix& y,
                    const float* a, int64_t a_stride, float* part) const;
  void query_gradients(const Strip& strip);
  void query_table_gradients(const Strip& strip);
  void key_table_gradients(const Strip& strip);

  const AttentionPlan& plan_;
  const GradientSums& sums_;
  BackwardUnit unit_;
  GradientSums::Rows keys_, values_;
  StripMatrix g_;                                    // gradient of the logits
  float *transposed_values_, *content_, *position_;  // [rows, width]: gradients of q, unscaled
  float *left_sums_, *right_sums_;                   // by key: g where the key table has ended
};

BackwardWork::BackwardWork(const AttentionPlan& plan, const GradientSums& sums, Scratch& scratch)
    : HeadWork(plan, scratch), plan_(plan), sums_(sums) {
  const int64_t width = plan.shape.width;
  g_ = take_matrix(scratch);
  transposed_values_ = few_queries() ? nullptr : scratch.take(width * transposed_stride());
  content_ = scratch.take(kStrip * width);
  position_ = plan.query_table ? scratch.take(kStrip * width) : nullptr;
  left_sums_ = plan.key_table ? scratch.take(plan.shape.keys) : nullptr;
  right_sums_ = plan.key_table ? scratch.take(plan.shape.keys) : nullptr;
}

void BackwardWork::begin_sequence(int64_t b) {
  begin(b, unit_.head);
  transpose_rows(plan_.v, transposed_values_);
  keys_ = sums_.key_rows(unit_, b);
  values_ = sums_.value_rows(unit_, b);
  if (!plan_.key_table) return;
  std::fill_n(left_sums_, plan_.shape.keys, 0.0f);
  std::fill_n(right_sums_, plan_.shape.keys, 0.0f);
}

/// Where the key table has ended, all pairs of a key share one row.
void BackwardWork::end_sequence() {
  const OffsetColumns& table = plan_.key_table;
  if (!table) return;
  const int64_t count = plan_.shape.keys, width = plan_.shape.width;
  const auto add = [&](const float* sums, int64_t offset) {
    const int64_t column = table.column(offset);
    if (keys_.data) {
      add_outer(sums, table.rows(head, column), count, width, keys_.data, keys_.stride);
    }
    if (float* part = sums_.key_table(unit_)) {
      add_weighted_rows(sums, plan_.k.at(sequence, 0, head), plan_.k.columns, count, width,
                        part + column * width);
    }
  };
  if (table.ends_before()) add(left_sums_, table.first());
  if (table.ends_after()) add(right_sums_, table.last());
}

void BackwardWork::add_to_keys(const Strip& strip, const StripMatrix& y, const float* a,
                               int64_t a_stride, const GradientSums::Rows& to) const {
  if (!to.data) return;
  for_tiles(strip, [&](const Tile& tile) {
    const BlockProduct how{tile.columns, plan_.shape.width, tile.rows, y.stride,
                           a_stride,     to.stride,         true,      true};
    block_gemm(how, y.data + tile.row * y.stride + tile.column, a + tile.row * a_stride,
               to.data + (strip.begin + tile.column) * to.stride);
  });
}

void BackwardWork::add_to_table(const Strip& strip, const OffsetColumns& table,
                                const StripMatrix& y, const float* a, int64_t a_stride,
                                float* part) const {
  const int64_t width = plan_.shape.width;
  const ColumnRange reached = plan_.columns(strip, table);
  const float* diagonals = y.data + reached.first_offset - strip.offset;
  for_table_tiles(strip, reached, [&](const Tile& tile) {
    const BlockProduct how{tile.columns, width, tile.rows, y.stride + 1,
                           a_stride,     width, true,      true};
    block_gemm(how, diagonals + tile.row * how.a_stride + tile.column, a + tile.row * a_stride,
               part + (reached.first + tile.column) * width);
  });
  const auto add = [&](const float* sums, int64_t offset) {
    add_weighted_rows(sums, a, a_stride, strip.rows, width, part + table.column(offset) * width);
  };
  if (table.ends_before()) add(below, table.first());
  if (table.ends_after()) add(above, table.last());
}

void BackwardWork::query_gradients(const Strip& strip) {
  const int64_t width = plan_.shape.width;
  for_tiles(strip, [&](const Tile& tile) {
    const BlockProduct how{tile.rows,       width, tile.columns, g_.stride,
                           plan_.k.columns, width, false,        tile.column > 0};
    block_gemm(how, g_.data + tile.row * g_.stride + tile.column,
               plan_.k.at(sequence, strip.begin + tile.column, head), content_ + tile.row * width);
  });
  if (float* part = sums_.content_bias(unit_)) {
    add_weighted_rows(nullptr, content_, width, strip.rows, width, part);
  }
  if (plan_.query_table) query_table_gradients(strip);
  const HeadView<float> to(sums_.gradients().q, width);
  if (!to) return;
  const auto scale = static_cast<float>(plan_.call.terms.scale);
  float* rows = to.at(sequence, strip.first, head);
  scale_rows(content_, width, nullptr, scale, strip.rows, width, rows, to.columns,
             sums_.gradients().write_q);
  if (plan_.query_table) {
    scale_rows(position_, width, nullptr, scale, strip.rows, width, rows, to.columns, Write::kAdd);
  }
}

void BackwardWork::query_table_gradients(const Strip& strip) {
  const int64_t width = plan_.shape.width;
  const OffsetColumns& table = plan_.query_table;
  std::fill_n(position_, strip.rows * width, 0.0f);
  add_table_rows(strip, table, g_, position_);
  if (float* part = sums_.position_bias(unit_)) {
    add_weighted_rows(nullptr, position_, width, strip.rows, width, part);
  }
  if (float* part = sums_.query_table(unit_)) {
    add_to_table(strip, table, g_, position_queries, width, part);
  }
}

void BackwardWork::key_table_gradients(const Strip& strip) {
  const OffsetColumns& table = plan_.key_table;
  const int64_t width = plan_.shape.width;
  RowTerms blocks;
  key_blocks(strip, blocks);
  add_column_sums(g_, strip.rows, 0, blocks.left_end, left_sums_ + strip.begin);
  add_column_sums(g_, strip.rows, blocks.right_begin, strip.columns(), right_sums_ + strip.begin);
  float* part = sums_.key_table(unit_);
  for (int64_t column = blocks.left_end; column < blocks.right_begin; column += kStrip) {
    const KeyBlock block = key_block(strip, column);
    clear_rows(block.keys, block.count, offsets, kOffsetStride);
    // Hidden pairs are 0 and may fall into a neighbour's unused columns.
    transpose(g_.data + (strip.rows - 1) * g_.stride + column, -g_.stride, strip.rows, block.keys,
              offsets - block.skipped, kOffsetStride + 1);
    if (keys_.data) {
      const BlockProduct how{block.keys, width,        block.count, kOffsetStride,
                             width,      keys_.stride, false,       true};
      block_gemm(how, offsets, table.rows(head, block.table_column),
                 keys_.data + (strip.begin + column) * keys_.stride);
    }
    if (part) {
      const BlockProduct how{block.count,     width, block.keys, kOffsetStride,
                             plan_.k.columns, width, true,       true};
      block_gemm(how, offsets, plan_.k.at(sequence, strip.begin + column, head),
                 part + block.table_column * width);
    }
  }
}

void BackwardWork::strip_gradients(const Strip& strip, const float* out, const float* log_sum_exp,
                                   const float* dout) {
  const int64_t stride = plan_.shape.heads * plan_.shape.width;
  logits(strip);
  row_products(strip, dout, stride, plan_.v, transposed_values_, g_);
  const OffsetColumns& table = plan_.value_table;
  if (table) {
    RowTerms terms;
    table_products(strip, table, dout, stride, g_, terms);
    add_terms(strip, terms, g_);
  }
  float means[kStrip];
  dot_rows(dout, stride, out, stride, strip.rows, plan_.shape.width, means);
  logit_gradients(strip, plan_.dropout(strip, sequence, head, words), x, g_, log_sum_exp, means);
  add_to_keys(strip, x, dout, stride, values_);
  add_to_keys(strip, g_, queries, plan_.shape.width, keys_);
  if (float* part = table ? sums_.value_table(unit_) : nullptr) {
    sum_table_ends(strip, table, x);
    add_to_table(strip, table, x, dout, stride, part);
  }
  query_gradients(strip);
  if (plan_.key_table) key_table_gradients(strip);
  if (float* part = sums_.bias(unit_)) {
    add_diagonals(strip, g_, part + strip.offset - plan_.range.first);
  }
}

void BackwardWork::run(const BackwardUnit& unit, const Tensor& out, const Tensor& log_sum_exp,
                       const Tensor& dout) {
  unit_ = unit;
  const AttentionShape& s = plan_.shape;
  sums_.clear(unit);
  const HeadView<float> dq(sums_.gradients().q, s.width);
  for (int64_t b = unit.first_sequence; b < unit.last_sequence; ++b) {
    begin_sequence(b);
    for (int64_t index = unit.group; index < plan_.strips; index += sums_.strip_groups()) {
      const Strip strip = plan_.strip(b, index);
      const int64_t row = b * s.queries + strip.first;
      const int64_t element = (row * s.heads + unit.head) * s.width;
      if (strip.columns() > 0) {
        strip_gradients(
            strip, out.data<float>() + element,
            log_sum_exp.data<float>() + (b * s.heads + unit.head) * s.queries + strip.first,
            dout.data<float>() + element);
      } else if (dq && sums_.gradients().write_q == Write::kSet) {
        clear_rows(strip.rows, s.width, dq.at(b, strip.first, unit.head), dq.columns);
      }
    }
    end_sequence();
  }
}

}  // namespace

void attention_grad(Backend& memory, const AttentionCall& call, const Tensor& out,
                    const Tensor& log_sum_exp, const Tensor& dout,
                    const AttentionGradients& gradients) {
  f32(dout);
  const AttentionPlan plan(memory, call);
  const GradientSums sums(memory, plan, gradients);
  Scratch count(nullptr);
  BackwardWork(plan, sums, count);
  const int threads = omp_get_max_threads();
  const Tensor scratch = empty(memory, {threads, count.used()}, DType::kF32);
#pragma omp parallel num_threads(threads)
  {
    Scratch own(scratch.data<float>() + omp_get_thread_num() * count.used());
    BackwardWork work(plan, sums, own);
#pragma omp for
    for (int64_t h = 0; h < call.shape.heads; ++h) plan.fill(h);
#pragma omp for schedule(dynamic, 1)
    for (int64_t unit = 0; unit < sums.units(); ++unit) {
      work.run(sums.unit(unit), out, log_sum_exp, dout);
    }
    sums.reduce();
  }
}

}  // namespace tapemeasure::cpu
