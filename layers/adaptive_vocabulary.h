// SPDX-License-Identifier: MIT
// A vocabulary in bins: frequent words have wide vectors and a small softmax of their own, in which
// every bin of rare words has one more entry; a rare word's probability is its bin's times its own
// among the bin's words.
//   log p(word of bin 0) = log softmax over [words of bin 0, one entry per tail]
//   log p(word of tail b) = the tail's entry + log softmax over the words of that tail
// Bin b has the width D_b = D / div_val^b and projections to and from D (none for div_val 1).
#pragma once

#include <memory>

#include "layers/vocabulary.h"

namespace tapemeasure {

/// Parameters "embedding.*" and "head.*" below `scope`. Throws ConfigError where a cut-off is not
/// below the vocabulary. REQUIRES: options.adaptive_softmax is active.
std::unique_ptr<Vocabulary> make_adaptive_vocabulary(const ModelOptions& options,
                                                     const Scope& scope);

}  // namespace tapemeasure
