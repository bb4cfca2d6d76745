// SPDX-License-Identifier: MIT
#include "app/learner.h"

#include <algorithm>
#include <cmath>

#include "app/checkpoint.h"
#include "core/backends/trace/trace_backend.h"
#include "core/config/node.h"
#include "core/error.h"

namespace tapemeasure {

namespace {

std::unique_ptr<Backend> backend_of(const TrainerOptions& trainer, Trace* trace) {
  const bool bf16 = trainer.precision == Precision::kBF16;
  auto backend = make_backend(trainer.backend + (bf16 ? ":bf16" : ""),
                              static_cast<int>(trainer.threads.value_or(0)));
  if (!trace) return backend;
  return std::make_unique<TraceBackend>(std::move(backend), *trace);
}

/// The tokens that close a document. One that the vocabulary does not have would close it at every
/// unknown word, and no token at all nowhere.
std::vector<int32_t> document_end(const std::string& text, const Tokenizer& tokenizer) {
  std::vector<int32_t> end;
  tokenizer.encode(text, "model.document_end", end);
  check<ConfigError>(
      text.empty() || !end.empty(),
      "model.document_end: the tokenizer makes no token of '{}': name a text that is "
      "one, or leave it out",
      printable(text));
  const auto unknown = tokenizer.unknown();
  check<ConfigError>(!unknown || std::find(end.begin(), end.end(), *unknown) == end.end(),
                     "model.document_end: '{}' is not in the tokenizer's vocabulary, so that every "
                     "unknown word would close a document: name a word that is, or leave it out",
                     printable(text));
  return end;
}

/// None without an objective: a model may be built for its own sake.
Specials specials_of(const Experiment& experiment, const Tokenizer& tokenizer) {
  const ObjectiveOptions* objective = experiment.objective.options.get();
  return objective ? objective->specials(experiment.setting(tokenizer.vocabulary())) : Specials();
}

/// Tells a network which rows of its vocabulary are tokens, and which of those close documents.
void settle(LanguageModel& network, const Experiment& experiment, const Tokenizer& tokenizer) {
  network.limit_vocabulary(tokenizer.vocabulary() + specials_of(experiment, tokenizer).predicted);
  network.separate_documents(document_end(experiment.model.document_end, tokenizer));
}

}  // namespace

void check_model(const Experiment& experiment, const Tokenizer& tokenizer) {
  ParameterStore store;
  LanguageModel network(experiment.model, Scope(store));
  settle(network, experiment, tokenizer);
}

Model::Model(const Experiment& experiment, std::shared_ptr<const Tokenizer> its_tokenizer,
             Trace* trace)
    : backend(backend_of(experiment.trainer, trace)),
      dtype(experiment.dtype()),
      tokenizer(std::move(its_tokenizer)),
      specials(tokenizer ? specials_of(experiment, *tokenizer) : Specials()),
      has_prefix(experiment.objective.options && experiment.objective.options->has_prefix()),
      network(std::make_unique<LanguageModel>(experiment.model, Scope(store))) {
  if (tokenizer) settle(*network, experiment, *tokenizer);
  store.allocate(*backend, dtype, static_cast<uint64_t>(experiment.trainer.seed));
}

std::unique_ptr<BatchSource> training_batches(const Experiment& experiment, const Corpus& corpus) {
  return experiment.objective.options->training(corpus.part(Split::kTrain),
                                                experiment.setting(corpus.tokenizer->vocabulary()));
}

ModelInput input_of(const Batch& batch, int64_t first, int64_t count) {
  const auto rows = [&](const Tensor& all) {
    return all.defined() ? all.rows(first, count) : Tensor();
  };
  return {.tokens_BT = rows(batch.tokens_BT),
          .lengths_B = rows(batch.lengths_B),
          .prefix_B = rows(batch.prefix_B),
          .source_BS = rows(batch.source_BS),
          .source_lengths_B = rows(batch.source_lengths_B)};
}

Learner::Learner(const Experiment& experiment, Model& model, const Corpus& corpus, Trace* trace)
    : experiment_(experiment),
      model_(model),
      optimizer_(*experiment.optimizer.options, model.store),
      batches_(training_batches(experiment, corpus)),
      tape_(true, trace),
      run_(tape_, true) {
  run_.recompute = experiment.trainer.recompute;
  run_.seed = static_cast<uint64_t>(experiment.trainer.seed);
  if (const int64_t length = experiment.model.memory; length > 0) {
    memory_.emplace(
        model.network->memory(*model.backend, model.dtype, experiment.sequences(), length));
  }
}

int64_t Learner::at_once() const {
  int64_t length = batch_.tokens_BT.shape()[1];
  if (batch_.source_BS.defined()) length = std::max(length, batch_.source_BS.shape()[1]);
  // Batches of translations vary in length: what goes together is a number of tokens.
  return std::max<int64_t>(1, *experiment_.trainer.micro_batch_tokens / length);
}

Variable Learner::forward(const ModelInput& input, const Tensor& targets_BT,
                          const LossOptions& options, double& total) {
  const Timed timed(tape_.trace(), "forward");
  const Variable hidden = model_.network->hidden(run_, input);
  const CrossEntropy result = model_.network->loss(run_, hidden, targets_BT, options);
  total += result.total;
  return result.loss;
}

double Learner::accumulate() {
  const int64_t sequences = batch_.tokens_BT.shape()[0], most = at_once();
  const double smoothing = experiment_.objective.options->smoothing();
  const double factor = 1 / static_cast<double>(batch_.scored);
  double total = 0;
  model_.store.clear_gradients();
  for (int64_t first = 0; first < sequences; first += most) {
    const int64_t count = std::min(most, sequences - first);
    run_.begin(steps_done_, first);
    const MemoryLanes lanes{memory_ ? &*memory_ : nullptr, first};
    ModelInput input = input_of(batch_, first, count);
    input.lanes = lanes;
    const Variable loss = forward(input, batch_.targets_BT.rows(first, count),
                                  {.factor = factor, .smoothing = smoothing}, total);
    const Timed timed(tape_.trace(), "backward");
    tape_.backward(loss);
    tape_.clear();
  }
  model_.store.complete_gradients();
  if (memory_) memory_->advance();
  return total * factor;
}

void Learner::next_batch() {
  const Timed timed(tape_.trace(), "batch");
  batches_->at(steps_done_, *model_.backend, batch_);
}

StepReport Learner::step() {
  next_batch();
  StepReport report;
  report.scored = batch_.scored;
  report.epoch = batch_.epoch;
  if (memory_ && batch_.restarts) memory_->clear();
  report.loss = accumulate();
  const Timed timed(tape_.trace(), "update");
  report.gradient_norm = optimizer_.gradient_norm();
  if (!std::isfinite(report.loss)) {
    report.nonfinite = "the loss";
    // What these activations left behind would spoil every later step.
    if (memory_) memory_->clear();
  } else if (!std::isfinite(report.gradient_norm)) {
    report.nonfinite = "the gradient of " + optimizer_.first_nonfinite();
  } else {
    const double rate = experiment_.optimizer.options->peak_rate() *
                        experiment_.schedule.options->factor(steps_done_);
    report.learning_rate = optimizer_.step(rate, report.gradient_norm);
  }
  ++steps_done_;
  return report;
}

void Learner::visit_state(StateVisitor& v) {
  v.integer("trainer/step", steps_done_);
  visit_parameters(v, model_.store);
  optimizer_.visit_state(v);
  if (memory_) memory_->visit_state(v);
}

}  // namespace tapemeasure
