// SPDX-License-Identifier: MIT
// The `model.adaptive_softmax:` section of a config: a vocabulary, ordered by frequency, in bins
// (Grave et al. 2017; for the input Baevski & Auli 2019; tied as in Transformer-XL).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/config/fields.h"

namespace tapemeasure {

struct AdaptiveSoftmaxOptions {
  std::vector<int64_t> cutoffs;  // none: a plain softmax
  int64_t div_val = 1;
  bool tied = true;
  std::vector<std::string> tied_projections;  // "true" or "false", one per bin, or none at all

  void visit(Fields& f);
  bool active() const { return !cutoffs.empty(); }
  bool ties_projection(size_t bin) const {
    return !tied_projections.empty() && tied_projections[bin] == "true";
  }
  /// The width of bin b, floor(width / div_val^b).
  int64_t bin_width(int64_t width, size_t bin) const;
  /// Throws ConfigError naming the keys (below "adaptive_softmax.") that contradict each other or
  /// the model's width. `place` turns a key into file:line:column.
  void validate(const std::function<std::string(const std::string&)>& place, int64_t width) const;
  /// Throws ConfigError unless every bin has words among the first `vocabulary`.
  void check_vocabulary(const std::string& place, int64_t vocabulary) const;
};

}  // namespace tapemeasure
