// SPDX-License-Identifier: MIT
// A training run: drives a Learner and keeps its run directory. Everything here may be stopped at
// any moment; what a resumed run writes is what an unbroken one would have written.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "app/evaluator.h"
#include "app/learner.h"
#include "app/metrics_file.h"
#include "app/run_directory.h"
#include "app/step_profile.h"
#include "core/log.h"

namespace tapemeasure {

/// Why a run came to its end.
enum class Stop { kFinished, kPatience, kMaxMinutes, kSignal };

class Trainer {
 public:
  /// All of them must outlive it. The directory exists and is locked by the caller. `profile`, if
  /// there is one, gets the times of a step.
  Trainer(const Experiment& experiment, const Corpus& corpus, const RunDirectory& directory,
          Log& log, StepProfile* profile = nullptr);

  Model& model() { return model_; }
  /// Continues from the newest checkpoint that is whole; each damaged one before it is named in the
  /// log and set aside. Without any, starts at step 0. Returns the step. Throws CheckpointError
  /// when none is whole, DataError when the texts are not those of the run.
  int64_t restore();
  /// Writes a checkpoint of the state as it is, unless the last one holds it.
  void save_now();
  /// Trains to the end of the config, a limit, or a signal. Throws NonFiniteError.
  Stop train();
  /// The signal that stopped it, or 0.
  int signal() const { return signal_; }

 private:
  void visit_state(StateVisitor& v);
  void load(int64_t step);
  void check_config(const std::string& config, const std::string& path) const;
  void announce();
  bool due(int64_t every) const;
  StepReport step();
  void log_step(const StepReport& report);
  void show_progress(const StepReport& report, bool last);
  void handle_nonfinite(const StepReport& report);
  bool measure();
  void evaluate_now();
  void warn_unmeasured();
  void check_weights();
  void save(const std::string& path);
  void write_results(const std::string& state);
  std::optional<Stop> limit_reached() const;

  const Experiment& experiment_;
  const Corpus& corpus_;
  const RunDirectory& directory_;
  Log& log_;
  StepProfile* profile_;
  Model model_;
  Learner learner_;
  std::optional<MetricsFile> metrics_;  // from train() on

  // Kept over stops.
  double best_loss_ = 0;
  int64_t best_step_ = 0;  // 0: none yet
  int64_t evaluations_since_best_ = 0;
  int64_t skipped_ = 0, skipped_in_a_row_ = 0;

  // Of this process only.
  std::optional<Evaluation> last_evaluation_;
  int64_t restored_at_ = 0, evaluated_at_ = -1, saved_at_ = -1;
  std::chrono::steady_clock::time_point started_, last_step_;
  double tokens_per_second_ = 0, mean_loss_ = 0;
  double steps_at_peak_ = 0;  ///< steps a second at the machine's peak; 0: not known
  int64_t steps_here_ = 0;
  int signal_ = 0;
  bool warned_unmeasured_ = false;
};

}  // namespace tapemeasure
