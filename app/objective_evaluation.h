// SPDX-License-Identifier: MIT
// Evaluation of what is not a whole text read in order: masked tokens, spans, translations,
// answers.
#pragma once

#include <memory>
#include <optional>

#include "app/evaluator.h"

namespace tapemeasure {

/// What is measured of a part, by the objective; `length` of windows or strings instead of the
/// trained ones. Null: the objective is measured by a protocol. May have no batches.
std::unique_ptr<FiniteSource> evaluation_source(const Model& model, const Experiment& experiment,
                                                const Part& part, std::optional<int64_t> length);

/// The loss of every target, without smoothing, and how many answers are right. Greedy decoding
/// gives an answer exactly when each of its tokens is the likeliest behind the right ones before
/// it, so one pass over the answers decides. REQUIRES: source.batches() > 0. Throws ConfigError
/// when sequences are longer than the model's positions reach.
Evaluation evaluate_objective(const Model& model, const Experiment& experiment,
                              const FiniteSource& source);

}  // namespace tapemeasure
