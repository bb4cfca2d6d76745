// SPDX-License-Identifier: MIT
// train and resume: the same loop, begun in two ways.
#include <filesystem>

#include "app/checkpoint.h"
#include "app/commands/commands.h"
#include "app/commands/numbers.h"
#include "app/corpus.h"
#include "app/report/document.h"
#include "app/report/server.h"
#include "app/results.h"
#include "app/saved_model.h"
#include "app/trainer.h"
#include "core/error.h"
#include "core/file/atomic_file.h"

namespace tapemeasure {

namespace {

struct TrainArguments {
  std::string config, run, cache = default_cache();
  std::string init_from, allow_missing;
  std::vector<std::string> sets;
  int port = 0;  // of --watch; 0: none
};

void add_watch_option(CLI::App* verb, int& port) {
  verb->add_option("--watch", port, "show the run live, on this port of 127.0.0.1")
      ->check(whole_number_between(1, 65535));
}

/// The port of --watch, taken before anything begins, or null.
std::unique_ptr<PageServer> take_port(int port) {
  return port > 0 ? std::make_unique<PageServer>(port, "--watch") : nullptr;
}

/// Shows a run, which has its config.yaml, from now on.
void watch(PageServer* server, const RunDirectory& directory, Log& log) {
  if (!server) return;
  Shown shown = find_runs({directory.path()});
  shown.live = true;
  const auto document = [shown] { return gather(shown); };
  server->start(document, document);
  log.info("watch it at {}", server->address());
}

void add_cache_option(CLI::App* verb, std::string& cache) {
  verb->add_option("--cache", cache, "where prepared texts are kept")->capture_default_str();
}

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
                           const TrainArguments& arguments) {
  if (arguments.init_from.empty()) return;
  Model trial(experiment, corpus.tokenizer);
  load_parameters(open_checkpoint(checkpoint_of(arguments.init_from)), trial.store,
                  arguments.allow_missing);
}

void initialise(Trainer& trainer, const TrainArguments& arguments, Log& log) {
  if (arguments.init_from.empty()) return;
  const std::string path = checkpoint_of(arguments.init_from);
  const Hdf5Reader file = open_checkpoint(path);
  const auto unchanged = load_parameters(file, trainer.model().store, arguments.allow_missing);
  log.info("weights from {}{}{}", path,
           unchanged.empty() ? "" : "; these stayed random: ", fmt::join(unchanged, " "));
  // A resume before the first checkpoint would start from other weights without this one.
  trainer.save_now();
}

int train(const TrainArguments& arguments) {
  Config config = Config::read(arguments.config);
  for (const std::string& assignment : arguments.sets) config.set(assignment);
  Experiment experiment = read_experiment(config);
  const auto server = take_port(arguments.port);
  if (!experiment.trainer.threads) experiment.trainer.threads = default_threads();
  const RunDirectory directory(arguments.run.empty() ? fresh_run_path(arguments.config)
                                                     : arguments.run);
  directory.check_free();
  std::vector<std::string> notices;
  const Corpus corpus = read_corpus(experiment, arguments.cache, notices);
  settle_vocabulary(experiment, corpus);
  training_batches(experiment, corpus);  // a text that is too short leaves no directory behind
  check_initial_weights(experiment, corpus, arguments);
  directory.create();
  const RunLock lock(directory);
  remove_leftovers(directory.path());
  Log log(directory.file("log.txt"));
  for (const std::string& notice : notices) log.warn("{}", notice);
  log.info("training in {}", directory.path());
  Trainer trainer(experiment, corpus, directory, log);
  initialise(trainer, arguments, log);
  write_atomically(directory.file("config.yaml"), write_experiment(experiment));
  watch(server.get(), directory, log);
  return finish(trainer, directory, log);
}

struct ResumeArguments {
  std::string run, cache = default_cache();
  std::vector<std::string> sets;
  int port = 0;  // as TrainArguments has it
};

int resume(const ResumeArguments& arguments) {
  const RunDirectory directory(arguments.run);
  check<CheckpointError>(directory.exists(), "{}: not a run directory: it has no config.yaml",
                         arguments.run);
  Config config = Config::read(directory.file("config.yaml"));
  const Experiment stored = read_experiment(config);
  for (const std::string& assignment : arguments.sets) config.set(assignment);
  const Experiment experiment = read_experiment(config);
  check_resumable(stored, experiment);
  if (already_complete(stored, experiment, directory)) {
    Log().info("{}: already complete; to go on, raise its steps: --set trainer.steps=N",
               directory.path());
    return 0;
  }
  const auto server = take_port(arguments.port);
  const RunLock lock(directory);
  directory.create_folders();
  remove_leftovers(directory.path());
  remove_leftovers(directory.file("checkpoints"));
  Log log(directory.file("log.txt"));
  std::vector<std::string> notices;
  const Corpus corpus = read_corpus(experiment, arguments.cache, notices);
  check<DataError>(corpus.tokenizer->vocabulary() <= experiment.model.vocabulary,
                   "{}: the text is not what this run was started with: it has {} kinds of tokens, "
                   "the model {}",
                   corpus.path(), corpus.tokenizer->vocabulary(),
                   experiment.model.vocabulary.value_or(0));
  Trainer trainer(experiment, corpus, directory, log);
  const int64_t step = trainer.restore();
  log.info("resuming {} at step {} of {}", directory.path(), step, experiment.trainer.steps);
  for (const ConfigValue& change : changed_values(stored, experiment)) {
    log.info("changed: {} is now {}", change.key, change.value);
  }
  write_atomically(directory.file("config.yaml"), write_experiment(experiment));
  watch(server.get(), directory, log);
  return finish(trainer, directory, log);
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("train", "Train a model as a config says");
  auto arguments = std::make_shared<TrainArguments>();
  verb->add_option("config", arguments->config, "the config, YAML")->required();
  verb->add_option("--set", arguments->sets, "KEY=VALUE: change a key of the config");
  verb->add_option("--run", arguments->run, "run directory to make [runs/NAME of the config]");
  verb->add_option("--init-from", arguments->init_from,
                   "start from the weights of a checkpoint or run (not its optimizer or step)");
  verb->add_option("--allow-missing", arguments->allow_missing,
                   "glob of parameters that --init-from may lack or have too many of");
  add_cache_option(verb, arguments->cache);
  add_watch_option(verb, arguments->port);
  verb->callback([arguments, &action] { action = [arguments] { return train(*arguments); }; });
}

void add_resume(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("resume", "Go on with a run that was stopped");
  auto arguments = std::make_shared<ResumeArguments>();
  verb->add_option("run", arguments->run, "run directory")->required();
  verb->add_option("--set", arguments->sets,
                   "KEY=VALUE: intervals, keep, limits, threads, or a larger trainer.steps");
  add_cache_option(verb, arguments->cache);
  add_watch_option(verb, arguments->port);
  verb->callback([arguments, &action] { action = [arguments] { return resume(*arguments); }; });
}

}  // namespace tapemeasure
