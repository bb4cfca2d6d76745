// SPDX-License-Identifier: MIT
// The part of training that decides its result: model, optimizer, schedule and batches. One step is
// a pure function of the state before it; nothing here knows of files, time or terminals.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/experiment.h"
#include "core/run.h"
#include "core/state.h"
#include "layers/language_model.h"
#include "optim/optimizer.h"

namespace tapemeasure {

/// A network with its backend, parameters, tokenizer and special tokens: what evaluation and
/// generation need.
struct Model {
  /// Builds it with initial weights. `experiment.model.vocabulary` is the tokenizer's and the
  /// objective's special tokens, or more. Without a tokenizer any row of the vocabulary is a token.
  /// `trace`, if there is one, outlives it and is told of every kernel.
  Model(const Experiment& experiment, std::shared_ptr<const Tokenizer> tokenizer,
        Trace* trace = nullptr);

  std::unique_ptr<Backend> backend;
  DType dtype;
  ParameterStore store;
  std::shared_ptr<const Tokenizer> tokenizer;
  Specials specials;
  bool has_prefix;  ///< as ObjectiveOptions has it
  std::unique_ptr<LanguageModel> network;

  /// How many ids, from 0 on, a model may predict.
  int64_t predicted() const { return tokenizer->vocabulary() + specials.predicted; }
};

/// Throws ConfigError where Model would, without the memory that a model takes.
void check_model(const Experiment& experiment, const Tokenizer& tokenizer);

/// What one step did.
struct StepReport {
  double loss = 0;           ///< mean nats per scored token, before the update
  double gradient_norm = 0;  ///< before clipping
  double learning_rate = 0;
  int64_t scored = 0;  ///< targets
  double epoch = 0;
  std::string nonfinite;  ///< what was not finite ("loss", a parameter's gradient), or ""
};

/// The batches of training. Throws DataError when the text is too short for one.
std::unique_ptr<BatchSource> training_batches(const Experiment& experiment, const Corpus& corpus);
/// What the network reads of sequences [first, first + count) of a batch.
ModelInput input_of(const Batch& batch, int64_t first, int64_t count);

class Learner {
 public:
  /// All of them must outlive it. `trace`, if there is one, is told what a step does.
  Learner(const Experiment& experiment, Model& model, const Corpus& corpus, Trace* trace = nullptr);

  /// Does step `steps_done()`. When a loss or gradient is not finite, nothing is updated but the
  /// step counts.
  StepReport step();
  int64_t steps_done() const { return steps_done_; }
  const Optimizer& optimizer() const { return optimizer_; }
  const BatchSource& batches() const { return *batches_; }
  /// Parameters, optimizer, segment memory, and the one step counter.
  void visit_state(StateVisitor& v);

 private:
  void next_batch();
  /// The loss of some sequences, of which `total` gets the sum.
  Variable forward(const ModelInput& input, const Tensor& targets_BT, const LossOptions& options,
                   double& total);
  double accumulate();
  /// Sequences of the batch that go through the model together.
  int64_t at_once() const;

  const Experiment& experiment_;
  Model& model_;
  Optimizer optimizer_;
  std::unique_ptr<BatchSource> batches_;
  Batch batch_;
  Tape tape_;
  Run run_;
  std::optional<Memory> memory_;  // of the whole batch, where the model has one
  int64_t steps_done_ = 0;
};

}  // namespace tapemeasure
