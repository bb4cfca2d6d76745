// SPDX-License-Identifier: MIT
// Multi-head attention as a layer: projections, the one attention op with the terms that the
// position method declares, output projection.
#pragma once

#include <memory>

#include "layers/key_value_cache.h"
#include "layers/linear.h"
#include "layers/options.h"
#include "layers/projections.h"

namespace tapemeasure {

/// What an attention reads besides its queries.
struct Source {
  /// Rows whose last ones are at the queries' positions: memory comes before them. Undefined: the
  /// queries' rows alone, or behind those in the cache.
  Variable rows_BSD = {};
  /// `rows_BSD` are another stack's, with positions of their own: no term of position applies.
  bool cross = false;
  /// Generation: no gradients. Grows by the queries' rows; when it is full, what the mask's window
  /// hides from them and all later ones makes room. Across stacks it keeps what the first call
  /// made of `rows_BSD`.
  KeyValueCache* cache = nullptr;
  /// `documents` as [B, positions from 0 on].
  AttentionMask mask = {};
};

class AttentionLayer {
 public:
  AttentionLayer(const ModelOptions& model, const PositionMethod& method, const Scope& scope);
  Variable operator()(Run& run, const Variable& x_BTD, const Source& source) const;

 private:
  Projections::Heads cached_heads(Run& run, const Variable& x_BTD, const Span& span,
                                  KeyValueCache& cache) const;
  Projections::Heads cross_heads(Run& run, const Variable& x_BTD, const Source& source) const;
  Projections::Heads heads(Run& run, const Variable& x_BTD, const Source& source,
                           const Span& span) const;

  int64_t heads_, head_width_;
  double scale_;
  double dropout_;
  uint64_t site_;
  Projections projections_;
  std::unique_ptr<PositionLayer> position_;
  Linear output_;
};

}  // namespace tapemeasure
