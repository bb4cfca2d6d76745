// SPDX-License-Identifier: MIT
// Relative effective context length (RECL): Dai et al. 2019, section 4.3, with r = 1: the longest
// context beyond which a model gains less than 1 % over the best of its group at the shorter one.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace tapemeasure {

/// Losses of the same targets by context length.
using ContextLosses = std::map<int64_t, std::vector<double>>;

/// REQUIRES: `model` is one of `group`; all have the same lengths, shortest first, and targets.
int64_t effective_context(const ContextLosses& model, const std::vector<ContextLosses>& group);

}  // namespace tapemeasure
