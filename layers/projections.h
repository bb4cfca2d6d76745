// SPDX-License-Identifier: MIT
// The query, key and value projections of an attention: three weights with names and optimizer
// statistics of their own that lie side by side in memory, so that one GEMM reads all of them.
#pragma once

#include <array>

#include "core/ops.h"
#include "core/parameter.h"
#include "layers/options.h"

namespace tapemeasure {

class Projections {
 public:
  enum Part { kQuery, kKey, kValue };
  /// Parameters scope.{query,key,value}.{weight [H * d, D], bias [H * d]}.
  Projections(const ModelOptions& model, const Scope& scope);

  struct Heads {
    HeadColumns q, k, v;
  };
  /// q, k and v of the same rows, x [B, T, D]: columns of one matrix where all or none of the three
  /// have a bias.
  Heads operator()(Run& run, const Variable& x_BTD) const;
  /// q of some rows, k and v of others.
  Heads operator()(Run& run, const Variable& query_BTD, const Variable& source_BSD) const;
  /// One of them alone, of x [..., D].
  Variable operator()(Run& run, const Variable& x, Part part) const;

 private:
  int64_t columns_;
  bool same_bias_ = true;
  std::array<Parameter*, 3> weights_{};
  std::array<Parameter*, 3> biases_{};
};

}  // namespace tapemeasure
