// SPDX-License-Identifier: MIT
// list: what runs there are and how far they came.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/commands/commands.h"
#include "app/experiment.h"
#include "app/metrics.h"
#include "app/results.h"
#include "app/run_directory.h"
#include "core/config/config.h"
#include "core/error.h"

namespace tapemeasure {

namespace {

namespace fs = std::filesystem;

/// One line of the table.
struct RunLine {
  std::string method = "?", best = "-", state = "unfinished";
  std::string measure;  // what its losses are per: they compare with those of the same alone
  int64_t step = 0, planned = 0;
};

/// The last step of the metrics and their lowest validation loss.
void read_metrics(const RunDirectory& directory, RunLine& line) {
  std::error_code error;
  const std::string path = directory.file("metrics.jsonl");
  std::ifstream in;
  if (std::filesystem::is_regular_file(path, error)) in.open(path);  // a pipe would be waited for
  double best = 0;
  bool measured = false;
  for (std::string text; std::getline(in, text);) {
    const auto row = parse_row(text);
    if (row.is_null()) continue;
    line.step = std::max(line.step, row["step"].get<int64_t>());
    const auto loss = row.find("validation_loss");
    if (loss == row.end() || !loss->is_number()) continue;
    best = measured ? std::min(best, loss->get<double>()) : loss->get<double>();
    measured = true;
  }
  if (measured) line.best = fmt::format("{:.4f}", best);
}

RunLine line_of(const RunDirectory& directory) {
  RunLine line;
  const std::vector<int64_t> steps = directory.checkpoints();
  if (!steps.empty()) line.step = steps.back();
  try {
    const Experiment experiment = read_experiment(Config::read(directory.file("config.yaml")));
    line.method = experiment.model.position.kind;
    line.planned = experiment.trainer.steps;
    line.measure =
        fmt::format("objective {}, tokenizer {}, vocabulary {}", experiment.objective.kind,
                    experiment.data.tokenizer, experiment.model.vocabulary.value_or(0));
    read_metrics(directory, line);
    const std::string trainer = lock_holder(directory.path());
    if (!trainer.empty()) {
      line.state = "training (" + trainer + ")";
    } else if (fs::exists(directory.file("results.json"))) {
      const RunResults results = RunResults::read(directory.file("results.json"));
      // Results from before a resume that was cut short are not the run's last word.
      if (results.steps >= line.step) line.state = results.state;
    }
  } catch (const Error& error) {
    line.state = error.what();
  }
  return line;
}

/// The table. Losses that do not compare with the first run's are marked.
class Table {
 public:
  /// `longest` is the size of the longest path.
  explicit Table(size_t longest) : width_(std::max<size_t>(longest, 32)) {
    fmt::print("{:<{}} {:<16} {:>16} {:>10}  {}\n", "run", width_, "method", "steps", "best loss",
               "state");
  }
  void print(const RunDirectory& directory) {
    const RunLine line = line_of(directory);
    if (measure_.empty()) measure_ = line.measure;
    const bool other = line.best != "-" && line.measure != measure_;
    marked_ = marked_ || other;
    fmt::print("{:<{}} {:<16} {:>16} {:>10}{} {}\n", directory.path(), width_, line.method,
               fmt::format("{}/{}", line.step, line.planned), line.best, other ? "*" : " ",
               line.state);
  }
  void finish() const {
    if (!marked_) return;
    fmt::print(
        "* not per the same thing as the first run's ({}): these losses cannot be compared; bits "
        "per byte can, see tapemeasure evaluate\n",
        measure_);
  }

 private:
  size_t width_;
  std::string measure_;
  bool marked_ = false;
};

/// Run directories at `path` and below it, however deep, in the order of their names. Nothing is
/// looked for inside a run.
void find_runs(const std::string& path, std::vector<RunDirectory>& runs) {
  if (RunDirectory(path).exists()) {
    runs.emplace_back(path);
    return;
  }
  std::vector<std::string> below;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    std::error_code unreadable;
    const bool folder = entry.is_directory(unreadable) && !entry.is_symlink(unreadable);
    if (folder || RunDirectory(entry.path().string()).exists()) {
      below.push_back(entry.path().string());
    }
  }
  check<CheckpointError>(!error, "{}: cannot read: {}", path, error.message());
  std::sort(below.begin(), below.end());
  for (const std::string& name : below) find_runs(name, runs);
}

int list(const std::vector<std::string>& paths) {
  std::vector<RunDirectory> runs;
  for (const std::string& path : paths) {
    check<CheckpointError>(fs::is_directory(path), "{}: not a folder", path);
    find_runs(path, runs);
  }
  size_t longest = 0;
  for (const RunDirectory& run : runs) longest = std::max(longest, run.path().size());
  Table table(longest);
  for (const RunDirectory& run : runs) table.print(run);
  table.finish();
  return 0;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("list", "List runs: method, steps, best loss, state");
  auto paths = std::make_shared<std::vector<std::string>>();
  verb->add_option("directory", *paths, "run directories, or folders that hold some, however deep")
      ->required();
  verb->callback([paths, &action] { action = [paths] { return list(*paths); }; });
}

}  // namespace tapemeasure
