// SPDX-License-Identifier: MIT
// The element-wise work on a strip of attention: everything between the products. A strip is up to
// 64 query rows, seen against the keys [begin, end); its columns count from `begin`. Matrices of a
// strip keep room on both sides of their rows, because products along diagonals reach past the
// ends.
#pragma once

#include <cstdint>

#include "core/backend.h"

namespace tapemeasure::cpu {

/// Rows of a strip, keys of a block.
constexpr int64_t kStrip = 64;
/// Room left and right of a strip's rows: what diagonals reach, rounded up to vectors.
constexpr int64_t kRoomBefore = kStrip, kRoomAfter = kStrip + 16;

/// Which pairs a strip has. Row i is query first + i, column x is key begin + x.
struct Strip {
  int64_t first = 0, rows = 0;
  int64_t begin = 0, end = 0;                  ///< whole blocks of keys that hold all visible ones
  int64_t first_offset = 0, last_offset = -1;  ///< of visible pairs
  int64_t offset = 0;                          ///< key - query position at row 0, column 0
  int64_t low[kStrip] = {};                    ///< visible columns of row i: [low[i], high[i])
  int64_t high[kStrip] = {};
  int64_t columns() const { return end - begin; }
};

/// Numbers of a strip; data points at row 0, column 0. `before` and `after` columns of room lie
/// around each row: none in a call that has no tables.
struct StripMatrix {
  float* data = nullptr;
  int64_t stride = 0, before = 0, after = 0;
};

/// Terms of a strip that are no product. Everything is optional.
struct RowTerms {
  const float* bias = nullptr;  ///< added to (i, x): bias[x - i]
  /// below[i] is added where x - i < first_diagonal, above[i] where x - i > last_diagonal.
  const float *below = nullptr, *above = nullptr;
  int64_t first_diagonal = 0, last_diagonal = 0;
  /// left[x] is added where x < left_end, right[x] where x >= right_begin.
  const float *left = nullptr, *right = nullptr;
  int64_t left_end = 0, right_begin = 0;
  /// Pairs see each other where documents[x] == query_documents[i].
  const int32_t *documents = nullptr, *query_documents = nullptr;
};

/// The dropout of a strip: element (i, x) is first + i * 2^24 + x of `sequence`.
struct StripDropout {
  bool active = false;
  uint64_t key = 0, sequence = 0, first = 0;
  uint32_t threshold = 0;
  float factor = 1;           ///< of what is kept
  uint32_t* words = nullptr;  ///< scratch: a strip's columns + 2 * 64
};

/// Adds the terms to the visible columns; documents make -infinity.
void add_terms(const Strip& strip, const RowTerms& terms, const StripMatrix& x);

/// x = exp(x - top) without the dropped ones, 0 where hidden; `sums` are those before dropout. A
/// row that sees nothing has sum 0. Dropped probabilities still lack `factor` and the division.
void exponentials(const Strip& strip, const StripDropout& dropout, const StripMatrix& x,
                  float* tops, float* sums);

/// Backward: x, logits, becomes the dropped probabilities p' = keep * p; g, the gradient of those,
/// becomes that of the logits, p * (keep * g - mean). Both are 0 where hidden, and in the room.
void logit_gradients(const Strip& strip, const StripDropout& dropout, const StripMatrix& x,
                     const StripMatrix& g, const float* log_sum_exp, const float* means);

/// sums[x - i] += y[i, x] over visible pairs.
void add_diagonals(const Strip& strip, const StripMatrix& y, float* sums);
/// below[i] = sum of y[i, x] where x - i < first_diagonal; above[i] where x - i > last_diagonal.
void sum_ends(const Strip& strip, const StripMatrix& y, const RowTerms& terms, float* below,
              float* above);
/// sums[x] += sum over rows of y[i, x], for x in [begin, end).
void add_column_sums(const StripMatrix& y, int64_t rows, int64_t begin, int64_t end, float* sums);

}  // namespace tapemeasure::cpu
