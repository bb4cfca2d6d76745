// SPDX-License-Identifier: MIT
// All that a page shows, gathered from run directories, from folders of them and from ablations:
// {"title", "made", "program", "live", "ablations": [results.json], "runs": [run_data.h]}. A run of
// an ablation also has "arm" and "seed".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/report/run_data.h"

namespace tapemeasure {

/// A run directory that a page shows.
struct ShownRun {
  std::string path, name;
  std::string ablation = {};  ///< the directory of the ablation that it belongs to, or ""
  std::string arm = {};
  int64_t seed = 0;
};

/// What the words of the command line mean.
struct Shown {
  std::string title;
  std::string program;                 ///< version, libraries and machine of this program
  bool live = false;                   ///< runs may be going on
  std::vector<std::string> ablations;  ///< directories
  std::vector<ShownRun> runs;
};

/// Finds the runs of each path: a run directory, an ablation (DIR/runs/ARM/seed-N), or a folder
/// with run directories below. Throws CheckpointError where there is none.
Shown find_runs(const std::vector<std::string>& paths);

/// The document, without pictures.
Json gather(const Shown& shown);

/// Which runs get pictures: one of each list, the first that can be loaded. A list is an arm's runs
/// by seed, or a run that is of no ablation.
std::vector<std::vector<size_t>> pictured(const Shown& shown);

}  // namespace tapemeasure
