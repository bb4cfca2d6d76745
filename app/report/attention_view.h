// SPDX-License-Identifier: MIT
// What one attention does with a text: its probabilities, and its logits' part that depends on
// positions. Everything is read off the AttentionCall that Run::attention_probe shows, so no kernel
// knows of it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/backend.h"

namespace tapemeasure {

/// Calls `visit` with each probability p[b,h,i,j] of pairs that are not padding. Attention mixes
/// values, so values that are unit vectors show with what weights: one call of the kernel for every
/// `width` keys.
struct PairOfTokens {
  int64_t sequence, head, query, key;
};
void visit_probabilities(const AttentionCall& call,
                         const std::function<void(const PairOfTokens&, double)>& visit);

/// Offsets j - i that a picture shows, both ends included.
struct OffsetRange {
  int64_t first = 0, last = 0;
  int64_t count() const { return last - first + 1; }
};
/// Those of a call, at most `most` each way; only the past under a causal mask without a prefix.
OffsetRange offsets_shown(const AttentionCall& call, int64_t most);

/// [H][offsets]: the mean of p[i,j] over all pairs at each offset j - i; hidden pairs count as 0.
std::vector<double> mean_attention(const AttentionCall& call, const OffsetRange& range);

/// [H][offsets]: scale * ((q + v) . Tq[a(r)] + k . Tk[c(r)]) + bias[b(r)] with q and k the means
/// over the tokens, which is the mean over all queries and keys of the logit's terms that know the
/// offset r. Empty where the call has none of these terms.
std::vector<double> position_scores(const AttentionCall& call, const OffsetRange& range);

}  // namespace tapemeasure
