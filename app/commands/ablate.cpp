// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "app/ablation/cell.h"
#include "app/ablation/launcher.h"
#include "app/ablation/plan_text.h"
#include "app/ablation/results.h"
#include "app/commands/commands.h"
#include "app/commands/numbers.h"
#include "core/backend.h"
#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/folder.h"
#include "core/log.h"
#include "data/prepare.h"

namespace tapemeasure {

namespace fs = std::filesystem;

namespace {

struct AblateArguments {
  std::string file, out, launcher = "local", cell, cache = default_cache();
  std::vector<std::string> sets;
  int64_t jobs = 0, threads = 0;  // 0: not said
  bool keep_going = false, fail_fast = false, plan = false, collect = false;
};

Cell cell_named(const Plan& plan, const std::string& name) {
  for (const Cell& cell : plan.cells()) {
    if (cell.name() == name) return cell;
  }
  throw ConfigError(
      fmt::format("--cell {}: {} has no such cell: ARM/seed-N is wanted", name, plan.path));
}

/// This program, to be started again.
std::string own_path() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  check<ConfigError>(!error, "/proc/self/exe: cannot be read: {}", error.message());
  return path.string();
}

LaunchOptions launch_options(const Plan& plan, const AblateArguments& arguments) {
  LaunchOptions options;
  options.program = own_path();
  options.cache = arguments.cache;
  options.keep_going = !arguments.fail_fast;
  const auto given = [](int64_t said, int64_t otherwise) { return said > 0 ? said : otherwise; };
  if (arguments.launcher == "slurm") {
    // This machine's cores say nothing of those that cells will run on.
    options.jobs = given(arguments.jobs, static_cast<int64_t>(plan.cells().size()));
    options.threads = given(arguments.threads, 1);
    return options;
  }
  const int64_t cores = default_threads();
  const int64_t each =
      given(arguments.threads, plan.base_experiment().trainer.threads.value_or(cores));
  options.jobs = given(arguments.jobs, std::max<int64_t>(1, cores / each));
  options.threads = given(arguments.threads, std::max<int64_t>(1, cores / options.jobs));
  return options;
}

/// The table, and where it and all else lies.
void show_results(const AblationDirectory& directory, Log& log) {
  fmt::print("{}", read_file(directory.file("table.md")));
  flush_output();
  log.info("table: {}", directory.file("table.md"));
  log.info("values and verdicts: {}", directory.file("results.json"));
}

/// What a finished ablation would return now.
int collect_results(const Plan& plan, const AblationDirectory& directory) {
  for (const Cell& cell : plan.cells()) check_run(plan, directory, cell);
  write_results(plan, directory);
  Log log;
  int64_t missing = 0;
  int code = 0;
  for (const Cell& cell : plan.cells()) {
    if (directory.finished(plan, cell)) continue;
    ++missing;
    const auto failure = directory.failure(cell);
    log.info("{}: {}", cell.name(), failure ? failure->reason : "not finished");
    if (failure && code == 0) code = failure->code;
  }
  log.info("{} of {} cells finished", plan.cells().size() - static_cast<size_t>(missing),
           plan.cells().size());
  show_results(directory, log);
  return code;
}

int submit(const Plan& plan, const AblationDirectory& directory, const LaunchOptions& options) {
  const std::vector<std::string> ids = launch_slurm(plan, directory, options);
  write_results(plan, directory);
  if (ids.empty()) {
    Log log;
    log.info("all cells are finished: nothing to submit");
    show_results(directory, log);
    return 0;
  }
  for (const std::string& id : ids) fmt::print("{}\n", id);
  Log().info(
      "submitted; the last job makes the table, and so does at any time: tapemeasure ablate "
      "{} --out {} --collect",
      plan.path, directory.path());
  return 0;
}

int launch(const Plan& plan, const AblationDirectory& directory, const AblateArguments& arguments) {
  check<ConfigError>(!arguments.fail_fast || arguments.launcher == "local",
                     "--fail-fast goes with --launcher local");
  for (const Cell& cell : plan.cells()) check_run(plan, directory, cell);
  make_folder(directory.path());
  const FolderLock lock(directory.path(), "ablation");
  const LaunchOptions options = launch_options(plan, arguments);
  if (arguments.launcher == "slurm") return submit(plan, directory, options);
  const Outcome outcome = launch_local(plan, directory, options);
  if (outcome.stopped) return outcome.code;  // perhaps nobody reads any more
  Log log;
  show_results(directory, log);
  return outcome.code;
}

int ablate(const AblateArguments& arguments) {
  const Plan plan = Plan::read(arguments.file, arguments.sets);
  const AblationDirectory directory(arguments.out.empty()
                                        ? "ablations/" + fs::path(arguments.file).stem().string()
                                        : arguments.out);
  if (!arguments.cell.empty()) {
    const int64_t threads = arguments.threads > 0 ? arguments.threads : default_threads();
    return run_cell(plan, directory, cell_named(plan, arguments.cell), {arguments.cache, threads});
  }
  if (arguments.plan) {
    fmt::print("{}", plan_text(plan, directory, launch_options(plan, arguments).jobs));
    return 0;
  }
  if (arguments.collect) return collect_results(plan, directory);
  return launch(plan, directory, arguments);
}

}  // namespace

void add_ablate(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("ablate", "Train and measure every arm of an ablation, make its table");
  auto a = std::make_shared<AblateArguments>();
  verb->add_option("file", a->file, "the ablation, YAML")->required();
  verb->add_option("--out", a->out, "directory of the ablation [ablations/NAME of the file]");
  verb->add_option("--set", a->sets, "KEY=VALUE: change a key in every arm");
  verb->add_option("--jobs", a->jobs, "cells at once [cores / trainer.threads of the base config]")
      ->check(whole_number_between(1, 4096));
  verb->add_option("--threads", a->threads,
                   "of each cell, where the plan does not say [cores / jobs]")
      ->check(whole_number_between(1, 4096));
  verb->add_option("--launcher", a->launcher, "where cells run: local or slurm")
      ->check(CLI::IsMember({"local", "slurm"}))
      ->capture_default_str();
  auto* keep_going = verb->add_flag("--keep-going", a->keep_going,
                                    "after a failure finish all other cells (the default)");
  verb->add_flag("--fail-fast", a->fail_fast, "stop at the first failure; others are saved")
      ->excludes(keep_going);
  auto* cell = verb->add_option("--cell", a->cell, "run only ARM/seed-N, in this process");
  auto* collect = verb->add_flag("--collect", a->collect, "only make the table of what is there")
                      ->excludes(cell);
  verb->add_flag("--plan", a->plan, "only say what would be done")
      ->excludes(cell)
      ->excludes(collect);
  verb->add_option("--cache", a->cache, "where prepared texts are kept")->capture_default_str();
  verb->callback([a, &action] { action = [a] { return ablate(*a); }; });
}

}  // namespace tapemeasure
