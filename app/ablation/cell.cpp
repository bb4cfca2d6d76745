// SPDX-License-Identifier: MIT
#include "app/ablation/cell.h"

#include <algorithm>
#include <filesystem>

#include "app/ablation/measuring.h"
#include "app/complaint.h"
#include "app/training_run.h"
#include "core/error.h"
#include "core/file/atomic_file.h"

namespace tapemeasure {

namespace fs = std::filesystem;

namespace {

/// A cell whose ablation has just been killed may still be saving.
constexpr std::chrono::seconds kPatience{10};

/// The config of a cell as its run wants it: what text and machine decide is filled in.
Experiment experiment_of(const Plan& plan, const Cell& cell, int64_t threads) {
  Experiment experiment = read_experiment(plan.config(cell));
  if (!experiment.trainer.threads) experiment.trainer.threads = threads;
  return experiment;
}

/// The first key that decides a cell's result and is not what it was, or "".
std::string changed_key(const Experiment& stored, Experiment now) {
  if (!now.model.vocabulary) now.model.vocabulary = stored.model.vocabulary;
  const std::vector<ConfigValue> changes = fixed_changes(stored, now);
  if (!changes.empty()) return fmt::format("{} ({} now)", changes[0].key, changes[0].value);
  if (stored.trainer.steps != now.trainer.steps)
    return fmt::format("trainer.steps ({} now, {} before)", now.trainer.steps,
                       stored.trainer.steps);
  if (stored.trainer.patience != now.trainer.patience)
    return fmt::format("trainer.patience ({} now, {} before)", now.trainer.patience,
                       stored.trainer.patience);
  return "";
}

/// Whether the run began with the weights that the plan says.
bool began_as_planned(const Plan& plan, const RunDirectory& run, const Cell& cell) {
  const std::string source = plan.arm(cell.arm).init_from;
  const bool has_origin = fs::exists(run.file(kInitFromFile));
  if (source.empty() || !has_origin) return source.empty() == !has_origin;
  const std::string wanted = "runs/" + Cell{source, cell.seed}.name() + "/";
  return read_file(run.file(kInitFromFile)).find(wanted) != std::string::npos;
}

std::string newest_checkpoint(const RunDirectory& run) {
  const std::vector<int64_t> steps = run.checkpoints();
  check<CheckpointError>(!steps.empty(), "{}: no checkpoint is left", run.path());
  return run.checkpoint(steps.back());
}

/// The weights that a cell starts from, or "".
std::string initial_weights(const Plan& plan, const AblationDirectory& directory,
                            const Cell& cell) {
  const std::string& arm = plan.arm(cell.arm).init_from;
  if (arm.empty()) return "";
  const Cell source{arm, cell.seed};
  check<CheckpointError>(directory.trained(source), "needs {}, which {}", source.name(),
                         directory.failure(source) ? "failed" : "is not trained yet");
  return newest_checkpoint(directory.run(source));
}

/// Waits for a process that is just ending, and clears away a run that was killed between its
/// initial weights and its config: nothing of it was trained.
void settle(const RunDirectory& run) {
  if (!fs::exists(run.path())) return;
  const RunLock lock(run, kPatience);
  if (!run.exists() && run.checkpoints() == std::vector<int64_t>{0}) fs::remove(run.checkpoint(0));
}

/// Returns the exit code.
int train_cell(const Plan& plan, const AblationDirectory& directory, const Cell& cell,
               const CellOptions& options) {
  const RunDirectory run = directory.run(cell);
  settle(run);
  check_run(plan, directory, cell);
  Experiment experiment = experiment_of(plan, cell, options.threads);
  if (!run.exists()) {
    const std::string weights = initial_weights(plan, directory, cell);
    fs::remove_all(directory.file("measured/" + cell.name()));  // they were of another run
    return begin_run(experiment, run, {.cache = options.cache, .init_from = weights});
  }
  const Experiment stored = read_experiment(config_of(run));
  if (!experiment.model.vocabulary) experiment.model.vocabulary = stored.model.vocabulary;
  if (already_complete(stored, experiment, run)) return 0;
  if (!plan.arm(cell.arm).init_from.empty())
    newest_checkpoint(run);  // without any it would start from random weights
  return resume_run(experiment, run, {.cache = options.cache});
}

/// A trained model as a measure wants it. Neighbours in a plan often want the same.
struct Subject {
  std::vector<std::string> sets;
  SavedModel saved;
  Corpus corpus;

  Subject(const std::string& checkpoint, const std::vector<std::string>& its_sets,
          const std::string& cache)
      : sets(its_sets),
        saved(load_model(checkpoint, its_sets)),
        corpus(training_corpus(saved, cache)) {}
};

/// Measures what a trained cell lacks, and keeps it.
void measure_cell(const Plan& plan, const AblationDirectory& directory, const Cell& cell,
                  const CellOptions& options) {
  const std::string checkpoint = newest_checkpoint(directory.run(cell));
  const std::string threads = fmt::format(
      "trainer.threads={}", *experiment_of(plan, cell, options.threads).trainer.threads);
  Log log;
  std::optional<Subject> subject;
  for (const Measure& measure : plan.measures) {
    if (!measure.evaluated() || !measure.measures(cell.arm)) continue;
    if (directory.has(plan, cell, measure)) continue;
    std::vector<std::string> sets = {threads};
    sets.insert(sets.end(), measure.set.begin(), measure.set.end());
    if (!subject || subject->sets != sets) subject.emplace(checkpoint, sets, options.cache);
    const Measured measured =
        measure_model(subject->saved, subject->corpus, measure, plan.chooses_by(measure));
    directory.keep(cell, measure, measured);
    log.info("measured {}: {:.6g} {}, {} targets in {:.1f} s", measure.name, measured.value,
             unit_of(measure.quantity), measured.tokens, measured.seconds);
  }
}

/// A failure that cannot be written must not take the place of the failure itself.
void try_to_keep(const AblationDirectory& directory, const Cell& cell, const std::exception& why) {
  Complaint complaint = complaint_of(why);
  std::replace(complaint.message.begin(), complaint.message.end(), '\n', ' ');
  try {
    directory.keep(cell, Failure{static_cast<int>(complaint.code), complaint.message});
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace

void check_run(const Plan& plan, const AblationDirectory& directory, const Cell& cell) {
  const RunDirectory run = directory.run(cell);
  if (!run.exists()) return;
  std::string changed = changed_key(read_experiment(config_of(run)), experiment_of(plan, cell, 1));
  if (changed.empty() && !began_as_planned(plan, run, cell)) changed = "init_from";
  check<ConfigError>(changed.empty(),
                     "{}: this run was made with another config, {} is not what it was: keep this "
                     "directory and name another with --out",
                     run.path(), changed);
}

int run_cell(const Plan& plan, const AblationDirectory& directory, const Cell& cell,
             const CellOptions& options) {
  try {
    directory.clear_failure(cell);
    const int code = train_cell(plan, directory, cell, options);
    if (code != 0) return code;
    check<ConfigError>(directory.trained(cell),
                       "stopped after trainer.max_minutes; start the ablation again to go on");
    measure_cell(plan, directory, cell, options);
    directory.clear_failure(cell);  // of another process that met this one at work
    return 0;
  } catch (const std::exception& error) {
    try_to_keep(directory, cell, error);
    throw;
  }
}

}  // namespace tapemeasure
