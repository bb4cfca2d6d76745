// SPDX-License-Identifier: MIT
// A whole config: what `train` reads, what is kept with a run, what a checkpoint carries.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/config/fields.h"
#include "data/objective/objective.h"
#include "data/prepare.h"
#include "layers/options.h"
#include "optim/schedule.h"
#include "optim/update_rule.h"

namespace tapemeasure {

/// The `data:` section.
struct DataOptions {
  std::vector<std::string> text;
  std::vector<std::string> valid, test;  ///< files of their own for these splits
  std::string source, target;            ///< of translations
  std::string tokenizer = "byte";
  std::optional<int64_t> vocabulary;
  int64_t min_frequency = 1;
  std::vector<double> split = {90, 5, 5};
  LineEnds newline = LineEnds::kRaw;
  DataOrder order = DataOrder::kShuffled;

  void visit(Fields& f);
  PrepareOptions prepare_options() const {
    return {text, tokenizer, split, vocabulary, min_frequency, valid, test, newline};
  }
  PairOptions pair_options() const {
    return {source, target, {tokenizer, vocabulary, min_frequency}, split};
  }
};

/// kBF16: products read bf16; all else, and all that is kept, is f32. kAuto: f32 or bf16, as
/// settle_precision() finds.
enum class Precision { kF32, kF64, kBF16, kAuto };
enum class OnNonfinite { kStop, kSkip };

/// The `trainer:` section.
struct TrainerOptions {
  int64_t steps = 1000;
  int64_t batch_tokens = 4096;
  std::optional<int64_t> micro_batch_tokens;
  bool recompute = false;
  int64_t seed = 1;
  int64_t evaluate_every = 250;
  int64_t save_every = 250;
  int64_t keep = 3;
  Precision precision = Precision::kF32;
  std::string backend = "cpu";
  std::optional<int64_t> threads;
  double max_minutes = 0;
  int64_t patience = 0;
  OnNonfinite on_nonfinite = OnNonfinite::kStop;
  int64_t nonfinite_limit = 10;

  void visit(Fields& f);
};

struct Experiment {
  DataOptions data;
  ModelOptions model;
  Chosen<ObjectiveOptions> objective;  ///< its default goes with model.kind
  Chosen<UpdateRuleOptions> optimizer{"adamw", nullptr};
  Chosen<ScheduleOptions> schedule{"cosine", nullptr};
  TrainerOptions trainer;

  void visit(Fields& f);

  int64_t sequences() const { return trainer.batch_tokens / model.context; }
  int64_t micro_sequences() const {
    return trainer.micro_batch_tokens.value_or(trainer.batch_tokens) / model.context;
  }
  /// What the objective is told; `vocabulary` is the tokenizer's.
  ObjectiveSetting setting(int64_t vocabulary) const;
  DType dtype() const { return trainer.precision == Precision::kF64 ? DType::kF64 : DType::kF32; }
};

/// Reads a config and checks what no single key can: contradictions, with their place. Fills in
/// what follows from other keys (schedule.steps, head width, ...), but not what the text and the
/// machine decide (vocabulary, threads).
Experiment read_experiment(const Config& config);
/// The complete YAML of an experiment; reading it back gives the same text. Takes a copy, as
/// visit() is one function for reading and writing.
std::string write_experiment(Experiment experiment);

/// Throws ConfigError naming the first key of model, data, optimizer, schedule or trainer that
/// differs between the two and must not change when a run is resumed.
void check_resumable(const Experiment& stored, const Experiment& now);
/// Of the changed values, those that check_resumable would refuse for their key.
std::vector<ConfigValue> fixed_changes(const Experiment& stored, const Experiment& now);
/// The values of `now` that differ from those of `stored`.
std::vector<ConfigValue> changed_values(const Experiment& stored, const Experiment& now);

}  // namespace tapemeasure
