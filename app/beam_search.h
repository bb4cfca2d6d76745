// SPDX-License-Identifier: MIT
// Beam search: the likeliest continuation of a prompt, searched by keeping the best few at every
// length.
#pragma once

#include <cstdint>
#include <vector>

#include "app/learner.h"

namespace tapemeasure {

struct BeamOptions {
  int64_t width = 4;
  /// A finished hypothesis of n new tokens scores its log-probability / n^length_penalty.
  double length_penalty = 1;
  int32_t end = 0;       ///< the token that ends a hypothesis
  int64_t tokens = 100;  ///< most new ones
};

struct Hypothesis {
  std::vector<int32_t> tokens;  ///< new ones, with the end if it was reached
  double score = 0;
};

/// Finished hypotheses, the best first, `width` at most. Step n, from 1, extends every live one by
/// every token and looks at the best 2 * width by log-probability: one that ends (or any at
/// n = tokens) is finished if it is among the best `width` of these and is dropped otherwise; the
/// best `width` that do not end live on. The search is over at n = tokens, or when `width` are
/// finished and the best live one's score at its length is not above the worst of theirs.
/// `source` is an encoder-decoder's, and empty otherwise. REQUIRES: the prompt is not empty.
std::vector<Hypothesis> beam_search(const Model& model, const std::vector<int32_t>& prompt,
                                    const std::vector<int32_t>& source, const BeamOptions& options);

}  // namespace tapemeasure
