// SPDX-License-Identifier: MIT
// Cells as elements of job arrays.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include "app/ablation/child_process.h"
#include "app/ablation/launcher.h"
#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/folder.h"

namespace tapemeasure {

namespace fs = std::filesystem;

namespace {

std::string absolute(const std::string& path) {
  return fs::absolute(path).lexically_normal().string();
}

/// A word that a shell takes as it is.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

/// The cells that have something to do, by how many arms they start from in turn.
std::map<int, std::vector<Cell>> open_cells(const Plan& plan, const AblationDirectory& directory) {
  std::map<int, std::vector<Cell>> cells;
  for (const Cell& cell : plan.cells()) {
    if (directory.finished(plan, cell)) continue;
    int depth = 0;
    for (std::string arm = plan.arm(cell.arm).init_from; !arm.empty();
         arm = plan.arm(arm).init_from)
      ++depth;
    cells[depth].push_back(cell);
  }
  return cells;
}

class Scripts {
 public:
  Scripts(const Plan& plan, const AblationDirectory& directory, const LaunchOptions& options);

  /// Writes the script of one depth and the list of its cells. Returns the script's path.
  std::string array(int depth, const std::vector<Cell>& cells) const;
  /// Writes the script that makes the table.
  std::string collect() const;

 private:
  /// The lines for sbatch, and the way to where configs name their texts from.
  std::string head(const std::string& more) const;
  std::string command() const;

  const Plan& plan_;
  const LaunchOptions& options_;
  std::string path_, folder_, name_;
};

Scripts::Scripts(const Plan& plan, const AblationDirectory& directory, const LaunchOptions& options)
    : plan_(plan),
      options_(options),
      path_(absolute(directory.path())),
      folder_(path_ + "/slurm"),
      name_(fs::path(plan.path).stem().string()) {
  std::replace_if(
      name_.begin(), name_.end(),
      [](unsigned char c) { return !std::isalnum(c) && c != '-' && c != '.'; }, '_');
  make_folder(folder_);
}

std::string Scripts::head(const std::string& more) const {
  // What a job says goes where its own script sends it: sbatch reads % in names of files.
  return fmt::format(
      "#!/bin/bash\n#SBATCH --job-name={}\n#SBATCH --output=/dev/null\n{}cd {} || exit 4\n", name_,
      more, quoted(fs::current_path().string()));
}

std::string Scripts::command() const {
  std::string text = fmt::format("{} ablate {} --out {}", quoted(absolute(options_.program)),
                                 quoted(absolute(plan_.path)), quoted(path_));
  for (const std::string& assignment : plan_.overrides) text += " --set " + quoted(assignment);
  return text;
}

std::string Scripts::array(int depth, const std::vector<Cell>& cells) const {
  const std::string stem = fmt::format("{}/depth-{}", folder_, depth);
  std::string list;
  int64_t threads = 1;
  for (const Cell& cell : cells) {
    list += cell.name() + "\n";
    const Experiment experiment = read_experiment(plan_.config(cell));
    threads = std::max(threads, experiment.trainer.threads.value_or(options_.threads));
  }
  write_atomically(stem + ".txt", list);
  // Before the time is up a cell is told to save; B: it is the batch process itself.
  std::string text =
      head(fmt::format("#SBATCH --array=0-{}%{}\n#SBATCH --ntasks=1\n#SBATCH --cpus-per-task={}\n"
                       "#SBATCH --signal=B:TERM@60\n",
                       cells.size() - 1, options_.jobs, threads));
  text += fmt::format(
      "cell=$(sed -n \"$((SLURM_ARRAY_TASK_ID + 1))p\" {})\n"
      "output={}/\"$cell\".txt\n"
      "mkdir -p \"${{output%/*}}\"\n"
      "exec {} --cell \"$cell\" --threads {} --cache {} >>\"$output\" 2>&1\n",
      quoted(stem + ".txt"), quoted(path_ + "/output"), command(), options_.threads,
      quoted(absolute(options_.cache)));
  write_atomically(stem + ".sh", text);
  return stem + ".sh";
}

std::string Scripts::collect() const {
  const std::string script = folder_ + "/collect.sh";
  write_atomically(
      script, head("#SBATCH --ntasks=1\n") + fmt::format("exec {} --collect >{} 2>&1\n", command(),
                                                         quoted(folder_ + "/collect.txt")));
  return script;
}

/// Submits a script that waits for the end of `before`, however that comes. Returns the job's id.
std::string submit(const std::string& script, const std::vector<std::string>& before) {
  std::vector<std::string> words = {"sbatch", "--parsable"};
  if (!before.empty())
    words.push_back(fmt::format("--dependency=afterany:{}", fmt::join(before, ":")));
  words.push_back(script);
  CommandResult result = run_command(words);
  check<ConfigError>(result.code != 127, "--launcher slurm: there is no sbatch here");
  std::string& said = result.output;
  while (!said.empty() && said.back() == '\n') said.pop_back();
  const std::string last = said.substr(said.rfind('\n') + 1);
  const std::string id = last.substr(0, last.find(';'));  // "ID" or "ID;CLUSTER"
  const bool is_id = !id.empty() && id.find_first_not_of("0123456789") == std::string::npos;
  std::replace(said.begin(), said.end(), '\n', ' ');
  check<ConfigError>(result.code == 0 && is_id, "{}: sbatch refuses it: {}", script, said);
  return id;
}

}  // namespace

std::vector<std::string> launch_slurm(const Plan& plan, const AblationDirectory& directory,
                                      const LaunchOptions& options) {
  const std::map<int, std::vector<Cell>> open = open_cells(plan, directory);
  if (open.empty()) return {};
  const Scripts scripts(plan, directory, options);
  std::vector<std::string> ids;
  try {
    for (const auto& [depth, cells] : open) {
      const std::string script = scripts.array(depth, cells);
      ids.push_back(submit(script, ids.empty() ? ids : std::vector<std::string>{ids.back()}));
    }
    ids.push_back(submit(scripts.collect(), ids));
  } catch (...) {
    // Half an ablation that nobody collects is nothing to leave behind.
    std::vector<std::string> words = {"scancel"};
    words.insert(words.end(), ids.begin(), ids.end());
    if (!ids.empty()) run_command(words);
    throw;
  }
  return ids;
}

}  // namespace tapemeasure
