// SPDX-License-Identifier: MIT
// train and resume: the same loop, begun in two ways.
#include "app/commands/commands.h"
#include "app/commands/numbers.h"
#include "app/report/document.h"
#include "app/report/server.h"
#include "app/training_run.h"
#include "core/log.h"
#include "data/prepare.h"

namespace tapemeasure {

namespace {

struct TrainArguments {
  std::string config, run, cache = default_cache();
  std::string init_from, allow_missing, profile;
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

/// What shows a run from the moment that it has its config.yaml, or nothing.
RunStart::Begun watching(PageServer* server) {
  if (!server) return {};
  return [server](const RunDirectory& directory, Log& log) {
    Shown shown = find_runs({directory.path()});
    shown.live = true;
    const auto document = [shown] { return gather(shown); };
    server->start(document, document);
    log.info("watch it at {}", server->address());
  };
}

void add_profile_option(CLI::App* verb, std::string& path) {
  verb->add_option("--profile", path,
                   "write where the time of one step goes, in Chrome's trace format");
}

void add_cache_option(CLI::App* verb, std::string& cache) {
  verb->add_option("--cache", cache, "where prepared texts are kept")->capture_default_str();
}

int train(const TrainArguments& arguments) {
  Config config = Config::read(arguments.config);
  for (const std::string& assignment : arguments.sets) config.set(assignment);
  const Experiment experiment = read_experiment(config);
  const auto server = take_port(arguments.port);
  const RunDirectory directory(arguments.run.empty() ? fresh_run_path(arguments.config)
                                                     : arguments.run);
  return begin_run(experiment, directory,
                   {.cache = arguments.cache,
                    .init_from = arguments.init_from,
                    .allow_missing = arguments.allow_missing,
                    .profile = arguments.profile,
                    .begun = watching(server.get())});
}

struct ResumeArguments {
  std::string run, profile, cache = default_cache();
  std::vector<std::string> sets;
  int port = 0;  // as TrainArguments has it
};

int resume(const ResumeArguments& arguments) {
  const RunDirectory directory(arguments.run);
  Config config = config_of(directory);
  for (const std::string& assignment : arguments.sets) config.set(assignment);
  const Experiment experiment = read_experiment(config);
  const auto server = take_port(arguments.port);
  return resume_run(
      experiment, directory,
      {.cache = arguments.cache, .profile = arguments.profile, .begun = watching(server.get())});
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
  add_profile_option(verb, arguments->profile);
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
  add_profile_option(verb, arguments->profile);
  verb->callback([arguments, &action] { action = [arguments] { return resume(*arguments); }; });
}

}  // namespace tapemeasure
