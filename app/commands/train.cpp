// SPDX-License-Identifier: MIT
// train and resume: the same loop, begun in two ways.
#include "app/commands/commands.h"
#include "app/training_run.h"
#include "data/prepare.h"

namespace tapemeasure {

namespace {

struct TrainArguments {
  std::string config, run, cache = default_cache();
  std::string init_from, allow_missing;
  std::vector<std::string> sets;
};

void add_cache_option(CLI::App* verb, std::string& cache) {
  verb->add_option("--cache", cache, "where prepared texts are kept")->capture_default_str();
}

int train(const TrainArguments& arguments) {
  Config config = Config::read(arguments.config);
  for (const std::string& assignment : arguments.sets) config.set(assignment);
  const RunDirectory directory(arguments.run.empty() ? fresh_run_path(arguments.config)
                                                     : arguments.run);
  return begin_run(read_experiment(config), directory,
                   {.cache = arguments.cache,
                    .init_from = arguments.init_from,
                    .allow_missing = arguments.allow_missing});
}

struct ResumeArguments {
  std::string run, cache = default_cache();
  std::vector<std::string> sets;
};

int resume(const ResumeArguments& arguments) {
  const RunDirectory directory(arguments.run);
  Config config = config_of(directory);
  for (const std::string& assignment : arguments.sets) config.set(assignment);
  return resume_run(read_experiment(config), directory, {.cache = arguments.cache});
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
  verb->callback([arguments, &action] { action = [arguments] { return train(*arguments); }; });
}

void add_resume(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("resume", "Go on with a run that was stopped");
  auto arguments = std::make_shared<ResumeArguments>();
  verb->add_option("run", arguments->run, "run directory")->required();
  verb->add_option("--set", arguments->sets,
                   "KEY=VALUE: intervals, keep, limits, threads, or a larger trainer.steps");
  add_cache_option(verb, arguments->cache);
  verb->callback([arguments, &action] { action = [arguments] { return resume(*arguments); }; });
}

}  // namespace tapemeasure
