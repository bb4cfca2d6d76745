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

class AttentionLayer {
 public:
  AttentionLayer(const ModelOptions& model, const PositionMethod& method, const Scope& scope);
  /// x_BTD at positions 0 ... T-1 attends to itself; with a cache (generation: no gradients) its
  /// rows follow those in the cache, which grows by T.
  Variable operator()(Run& run, const Variable& x_BTD, KeyValueCache* cache) const;

 private:
  Projections::Heads cached_heads(Run& run, const Variable& x_BTD, KeyValueCache& cache) const;

  int64_t heads_, head_width_;
  double scale_;
  AttentionMask mask_;
  double dropout_;
  uint64_t site_;
  Projections projections_;
  std::unique_ptr<PositionLayer> position_;
  Linear output_;
};

}  // namespace tapemeasure
