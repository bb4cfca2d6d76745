// SPDX-License-Identifier: MIT
#include "app/part_evaluation.h"

#include "app/objective_evaluation.h"
#include "core/error.h"

namespace tapemeasure {

EvaluationPart evaluation_part(const Corpus& corpus, Split split) {
  return {corpus.part(split),
          corpus.text ? evaluation_text(*corpus.text, split) : EvaluationText()};
}

bool has_protocol(const SavedModel& saved) { return saved.experiment.objective.kind == "causal"; }

Evaluation evaluate_text(const SavedModel& saved, const EvaluationText& text,
                         const Protocol& protocol,
                         const std::function<void(double, int64_t)>& per_target) {
  return evaluate(*saved.model, text, protocol, saved.experiment.trainer.micro_batch_tokens.value(),
                  per_target);
}

Evaluation evaluate_strings(const SavedModel& saved, const Part& part,
                            std::optional<int64_t> length) {
  const auto batches = evaluation_source(*saved.model, saved.experiment, part, length);
  check<DataError>(batches->batches() > 0, "{}: nothing to evaluate: too short for one window",
                   part.origin);
  Evaluation result = evaluate_objective(*saved.model, saved.experiment, *batches);
  result.protocol.length = length.value_or(0);
  return result;
}

}  // namespace tapemeasure
