// SPDX-License-Identifier: MIT
// One evaluation of a saved model: what of a corpus is read, and which of the two ways of measuring
// goes with the model's objective.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "app/evaluator.h"
#include "app/saved_model.h"

namespace tapemeasure {

/// One split of a corpus as both ways of measuring want it.
struct EvaluationPart {
  Part part;
  EvaluationText text;  ///< where there is one
};
EvaluationPart evaluation_part(const Corpus& corpus, Split split);

/// True for objectives that are measured by a protocol, over the whole text in order.
bool has_protocol(const SavedModel& saved);
/// By a protocol. Throws as evaluate() does.
Evaluation evaluate_text(const SavedModel& saved, const EvaluationText& text,
                         const Protocol& protocol,
                         const std::function<void(double loss, int64_t before)>& per_target = {});
/// Of other objectives. `length` of windows or strings; none: as trained. Throws DataError where
/// there is nothing to evaluate.
Evaluation evaluate_strings(const SavedModel& saved, const Part& part,
                            std::optional<int64_t> length);

}  // namespace tapemeasure
