// SPDX-License-Identifier: MIT
#include "app/objective_evaluation.h"

#include <algorithm>

#include "core/error.h"
#include "core/host.h"

namespace tapemeasure {

namespace {

void check_length(const Model& model, const Batch& batch) {
  const auto longest = model.network->longest();
  int64_t length = batch.tokens_BT.shape()[1];
  if (batch.source_BS.defined()) length = std::max(length, batch.source_BS.shape()[1]);
  check<ConfigError>(!longest || length <= *longest,
                     "sequences of {} tokens are beyond the {} positions that this model has "
                     "learned",
                     length, longest.value_or(0));
}

/// Whether each scored target of a sequence is its likeliest token. Ties go to the lower id.
bool is_right(const Model& model, Run& run, const Tensor& hidden_TD, const int32_t* targets) {
  const int64_t rows = hidden_TD.shape()[0];
  const Tensor hidden_BTD = hidden_TD.reshaped({1, rows, hidden_TD.shape()[1]});
  const Tensor logits_BTV = model.network->logits(run, Variable(hidden_BTD)).value();
  const std::vector<double> logits = to_doubles(logits_BTV);
  const int64_t vocabulary = logits_BTV.shape()[2];
  for (int64_t t = 0; t < rows; ++t) {
    if (targets[t] < 0) continue;
    const auto row = logits.begin() + t * vocabulary;
    if (std::max_element(row, row + model.predicted()) - row != targets[t]) return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<FiniteSource> evaluation_source(const Model& model, const Experiment& experiment,
                                                const Part& part, std::optional<int64_t> length) {
  ObjectiveSetting setting = experiment.setting(model.tokenizer->vocabulary());
  setting.batch_tokens = experiment.trainer.micro_batch_tokens.value();
  return experiment.objective.options->evaluation(part, setting, length);
}

Evaluation evaluate_objective(const Model& model, const Experiment& experiment,
                              const FiniteSource& source) {
  const ObjectiveOptions& objective = *experiment.objective.options;
  Evaluation result;
  result.objective = experiment.objective.kind;
  result.unit = objective.unit();
  Batch batch;
  for (int64_t step = 0; step < source.batches(); ++step) {
    source.at(step, *model.backend, batch);
    check_length(model, batch);
    const int64_t sequences = batch.tokens_BT.shape()[0], length = batch.tokens_BT.shape()[1];
    Tape tape(false);
    Run run(tape);
    const Variable hidden = model.network->hidden(run, input_of(batch, 0, sequences));
    result.nats += model.network->loss(run, hidden, batch.targets_BT, {}).total;
    result.tokens += batch.scored;
    if (!objective.has_answers()) continue;
    for (int64_t s = 0; s < sequences; ++s) {
      result.exact += is_right(model, run, hidden.value().sequence_rows(s, 0, length),
                               batch.targets_BT.data<int32_t>() + s * length);
      ++result.answers;
    }
  }
  return result;
}

}  // namespace tapemeasure
