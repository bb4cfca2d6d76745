// SPDX-License-Identifier: MIT
// What the forward and the backward of the fused attention share: the plan of a call, and one
// thread's work on one head of one sequence, which computes the logits of a strip.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/backend.h"
#include "core/backends/attention_views.h"
#include "core/backends/cpu/attention_offsets.h"
#include "core/backends/cpu/attention_rows.h"

namespace tapemeasure::cpu {

/// The columns of a table that a strip's visible pairs reach.
struct ColumnRange {
  int64_t first = 0, count = 0;  ///< columns
  int64_t first_offset = 0;      ///< of the first column
};

/// Rows and columns of a strip that one product covers.
struct Tile {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
};

/// Calls body(tile) for tiles that hold all visible pairs: the first one of any column holds all
/// rows from its own on, and column 0 all rows. A block on the diagonal goes without its hidden
/// quarter.
template <class Body>
void for_tiles(const Strip& strip, const Body& body) {
  constexpr int64_t kHalf = kStrip / 2;
  int64_t seen_by_half = strip.columns();
  if (strip.rows > kHalf) seen_by_half = *std::max_element(strip.high, strip.high + kHalf);
  for (int64_t column = 0; column < strip.columns(); column += kStrip) {
    const int64_t columns = std::min(kStrip, strip.columns() - column);
    if (columns <= kHalf || seen_by_half > column + kHalf) {
      body(Tile{0, strip.rows, column, columns});
      continue;
    }
    body(Tile{0, strip.rows, column, kHalf});
    body(Tile{kHalf, strip.rows - kHalf, column + kHalf, columns - kHalf});
  }
}

/// The same for the columns of a table, counted from the first that is reached. The offsets that
/// rows see fall from row to row, so the first block of a strip goes without its hidden quarter.
template <class Body>
void for_table_tiles(const Strip& strip, const ColumnRange& reached, const Body& body) {
  const int64_t first_offset = reached.first_offset, count = reached.count;
  constexpr int64_t kHalf = kStrip / 2;
  int64_t seen_by_half = first_offset;
  if (strip.rows > kHalf) {
    seen_by_half += count;
    for (int64_t i = 0; i < kHalf; ++i) {
      if (strip.low[i] < strip.high[i]) {
        seen_by_half = std::min(seen_by_half, strip.offset + strip.low[i] - i);
      }
    }
  }
  for (int64_t column = 0; column < count; column += kStrip) {
    const int64_t columns = std::min(kStrip, count - column);
    if (columns <= kHalf || seen_by_half < first_offset + column + kHalf) {
      body(Tile{0, strip.rows, column, columns});
      continue;
    }
    body(Tile{kHalf, strip.rows - kHalf, column, kHalf});
    body(Tile{0, strip.rows, column + kHalf, columns - kHalf});
  }
}

/// A block of a strip's keys, seen by the offsets that its visible pairs have. Key j finds row i at
/// column j + (rows - 1 - i) - skipped of [keys, count], so that rows lie along diagonals.
struct KeyBlock {
  int64_t keys = 0, count = 0;
  int64_t table_column = 0;  ///< of column 0
  int64_t skipped = 0;       ///< offsets that only hidden pairs have
};

/// So few queries do not repay a transpose.
constexpr int64_t kFewQueries = 4;

/// A call with its tables laid out by offset. Read by all threads once it is filled.
class AttentionPlan {
 public:
  AttentionPlan(Backend& memory, const AttentionCall& call, bool forward_only = false);
  /// Lays out the tables of one head; every head must be filled before work begins.
  void fill(int64_t head) const;

  Strip strip(int64_t sequence, int64_t index) const;
  StripDropout dropout(const Strip& strip, int64_t sequence, int64_t head, uint32_t* words) const;
  /// The columns of `table` that the strip reaches.
  ColumnRange columns(const Strip& strip, const OffsetColumns& table) const;
  bool has_tables() const { return query_table || key_table || value_table; }

  const AttentionCall& call;
  const AttentionShape& shape;
  /// Logits read the query and the key table where they lie: few queries do not repay a layout.
  bool direct;
  HeadView<float> q, k, v;
  OffsetRange range;
  OffsetColumns query_table, value_table;
  OffsetColumns key_table;  ///< times the scale
  Tensor bias;              ///< [heads, offsets of `range`]
  int64_t strips = 0;
  int64_t longest = 0;  ///< most columns of a strip
};

/// Scratch of one thread, handed out in order. Without memory it only counts.
class Scratch {
 public:
  explicit Scratch(float* data) : data_(data) {}
  float* take(int64_t count) {
    float* block = data_ ? data_ + used_ : nullptr;
    used_ += round_up(count, 16);
    return block;
  }
  int64_t used() const { return used_; }

 private:
  float* data_;
  int64_t used_ = 0;
};

class HeadWork {
 public:
  HeadWork(const AttentionPlan& plan, Scratch& scratch);
  /// Starts on another head: transposes its keys.
  void begin(int64_t sequence, int64_t head);
  /// Fills `x` with all logits of the strip, except for hidden pairs; sets `queries` and
  /// `position_queries`.
  void logits(const Strip& strip);

  /// y = a times all head vectors of `rows` that the strip covers, transposed in `transposed` (or
  /// null: then a is short, and single products do).
  void row_products(const Strip& strip, const float* a, int64_t a_stride,
                    const HeadView<float>& rows, const float* transposed,
                    const StripMatrix& y) const;
  /// Adds a times a table's columns along the diagonals of y; the table's ends go into `terms`.
  void table_products(const Strip& strip, const OffsetColumns& table, const float* a,
                      int64_t a_stride, const StripMatrix& y, RowTerms& terms);
  /// to [rows, width] += y's diagonals times a table's rows; y must be 0 where hidden, and in its
  /// room. Leaves the sums of y's ends in `below` and `above`.
  void add_table_rows(const Strip& strip, const OffsetColumns& table, const StripMatrix& y,
                      float* to);
  void sum_table_ends(const Strip& strip, const OffsetColumns& table, const StripMatrix& y);
  /// Which blocks of the strip's columns meet the middle of the key table: [left_end, right_begin).
  void key_blocks(const Strip& strip, RowTerms& terms) const;
  KeyBlock key_block(const Strip& strip, int64_t column) const;
  StripMatrix take_matrix(Scratch& scratch) const;
  /// Transposes a head's vectors into [width, transposed_stride()]; null for few queries.
  void transpose_rows(const HeadView<float>& rows, float* to) const;
  int64_t transposed_stride() const { return round_up(plan_.shape.keys, 16) + 16; }
  bool few_queries() const { return plan_.shape.queries <= kFewQueries; }

  /// Row stride of `offsets`, a block of keys by the offsets that it has to a strip.
  static constexpr int64_t kOffsetStride = 2 * kStrip;

  StripMatrix x;
  float* queries;            ///< [rows, width], scale * (q + u)
  float* position_queries;   ///< [rows, width], scale * (q + v)
  float* offsets = nullptr;  ///< [kStrip, kOffsetStride], of a KeyBlock
  float *below, *above;      ///< [rows], for the ends of a table
  uint32_t* words;
  int64_t sequence = 0, head = 0;

 private:
  void key_table_products(const Strip& strip, RowTerms& terms);
  /// Logits += a [rows, width] times the query table, without its layout.
  void add_query_table(const Strip& strip, const float* a);
  /// Logits += keys times the key table, without its layout.
  void add_key_table(const Strip& strip);

  const AttentionPlan& plan_;
  float *transposed_keys_, *left_, *right_, *products_;
};

}  // namespace tapemeasure::cpu
