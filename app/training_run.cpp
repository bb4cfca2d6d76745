// SPDX-License-Identifier: MIT
#include "app/training_run.h"

#include <filesystem>

#include "app/checkpoint.h"
#include "app/corpus.h"
#include "app/precision.h"
#include "app/results.h"
#include "app/saved_model.h"
#include "app/trainer.h"
#include "core/error.h"
#include "core/file/atomic_file.h"

namespace tapemeasure {

namespace {

/// The log of a run also holds what ended it.
Stop train_to_the_end(Trainer& trainer, Log& log) {
  try {
    return trainer.train();
  } catch (const Error& error) {
    log.record(error.what());
    throw;
  }
}

/// Trains to the end and says where things lie. Returns the exit code.
int finish(Trainer& trainer, const RunDirectory& directory, Log& log) {
  const Stop stop = train_to_the_end(trainer, log);
  if (stop == Stop::kSignal) {
    log.info("stopped by a signal and saved; go on with: tapemeasure resume {}", directory.path());
    return 128 + trainer.signal();
  }
  if (stop == Stop::kMaxMinutes) {
    log.info("stopped after trainer.max_minutes and saved; go on with: tapemeasure resume {}",
             directory.path());
  }
  if (stop == Stop::kPatience) log.info("no better evaluation for trainer.patience of them: done");
  log.info("run directory: {}", directory.path());
  return 0;
}

/// Weights that do not fit leave no directory behind.
void check_initial_weights(const Experiment& experiment, const Corpus& corpus,
                           const RunStart& start) {
  if (start.init_from.empty()) return;
  Model trial(experiment, corpus.tokenizer);
  load_parameters(open_checkpoint(checkpoint_of(start.init_from)), trial.store,
                  start.allow_missing);
}

void initialise(Trainer& trainer, const RunDirectory& directory, const RunStart& start, Log& log) {
  if (start.init_from.empty()) return;
  const std::string path = checkpoint_of(start.init_from);
  const Hdf5Reader file = open_checkpoint(path);
  const auto unchanged = load_parameters(file, trainer.model().store, start.allow_missing);
  log.info("weights from {}{}{}", path,
           unchanged.empty() ? "" : "; these stayed random: ", fmt::join(unchanged, " "));
  write_atomically(directory.file(kInitFromFile), path + "\n");
  // A resume before the first checkpoint would start from other weights without this one.
  trainer.save_now();
}

}  // namespace

int begin_run(Experiment experiment, const RunDirectory& directory, const RunStart& start) {
  if (!experiment.trainer.threads) experiment.trainer.threads = default_threads();
  directory.check_free();
  const std::string precision = settle_precision(experiment.trainer);
  std::vector<std::string> notices;
  const Corpus corpus = read_corpus(experiment, start.cache, notices);
  settle_vocabulary(experiment, corpus);
  training_batches(experiment, corpus);  // a text that is too short leaves no directory behind
  check_model(experiment, *corpus.tokenizer);  // nor one that lacks words for the model's bins
  check_initial_weights(experiment, corpus, start);
  directory.create();
  const RunLock lock(directory);
  remove_leftovers(directory.path());
  Log log(directory.file("log.txt"));
  for (const std::string& notice : notices) log.warn("{}", notice);
  log.info("training in {}", directory.path());
  if (!precision.empty()) log.info("{}", precision);
  StepProfile profile(start.profile);
  Trainer trainer(experiment, corpus, directory, log, start.profile.empty() ? nullptr : &profile);
  initialise(trainer, directory, start, log);
  write_atomically(directory.file("config.yaml"), write_experiment(experiment));
  if (start.begun) start.begun(directory, log);
  return finish(trainer, directory, log);
}

Config config_of(const RunDirectory& directory) {
  check<CheckpointError>(directory.exists(), "{}: not a run directory: it has no config.yaml",
                         directory.path());
  return Config::read(directory.file("config.yaml"));
}

bool already_complete(const Experiment& stored, const Experiment& now,
                      const RunDirectory& directory) {
  const std::vector<int64_t> steps = directory.checkpoints();
  if (steps.empty() || !std::filesystem::exists(directory.file("results.json"))) return false;
  RunResults results;
  try {
    results = RunResults::read(directory.file("results.json"));
  } catch (const Error&) {
    return false;  // going on writes them anew
  }
  if (results.steps != steps.back() || !results.state.starts_with("finished")) return false;
  const int64_t before = stored.trainer.patience, patience = now.trainer.patience;
  const bool impatient = patience > 0 && patience <= before;
  return results.steps >= now.trainer.steps || (results.state == "finished early" && impatient);
}

int resume_run(const Experiment& experiment, const RunDirectory& directory, const RunStart& start) {
  const Experiment stored = read_experiment(config_of(directory));
  check_resumable(stored, experiment);
  if (already_complete(stored, experiment, directory)) {
    Log().info("{}: already complete; to go on, raise its steps: --set trainer.steps=N",
               directory.path());
    return 0;
  }
  const RunLock lock(directory);
  directory.create_folders();
  remove_leftovers(directory.path());
  remove_leftovers(directory.file("checkpoints"));
  Log log(directory.file("log.txt"));
  std::vector<std::string> notices;
  const Corpus corpus = read_corpus(experiment, start.cache, notices);
  check<DataError>(corpus.tokenizer->vocabulary() <= experiment.model.vocabulary,
                   "{}: the text is not what this run was started with: it has {} kinds of tokens, "
                   "the model {}",
                   corpus.path(), corpus.tokenizer->vocabulary(),
                   experiment.model.vocabulary.value_or(0));
  StepProfile profile(start.profile);
  Trainer trainer(experiment, corpus, directory, log, start.profile.empty() ? nullptr : &profile);
  const int64_t step = trainer.restore();
  log.info("resuming {} at step {} of {}", directory.path(), step, experiment.trainer.steps);
  for (const ConfigValue& change : changed_values(stored, experiment)) {
    log.info("changed: {} is now {}", change.key, change.value);
  }
  write_atomically(directory.file("config.yaml"), write_experiment(experiment));
  if (start.begun) start.begun(directory, log);
  return finish(trainer, directory, log);
}

}  // namespace tapemeasure
