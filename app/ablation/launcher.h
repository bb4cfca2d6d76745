// SPDX-License-Identifier: MIT
// Runs the cells that are not finished, each as `tapemeasure ablate FILE --out DIR --cell NAME`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/ablation/directory.h"
#include "app/ablation/plan.h"

namespace tapemeasure {

struct LaunchOptions {
  std::string program;  ///< path of this program
  std::string cache;
  int64_t jobs = 1;     ///< cells at once
  int64_t threads = 1;  ///< of each, where the plan does not say
  bool keep_going = true;
};

struct Outcome {
  int64_t finished = 0, failed = 0, left = 0;
  int code = 0;          ///< of the first cell that failed; 128 + signal when stopped
  bool stopped = false;  ///< by a signal
};

/// On this machine, `jobs` at a time, with a line of progress each and a total with the time left.
/// Signals are passed on to the cells, which save. Where this process dies they stop by themselves.
Outcome launch_local(const Plan& plan, const AblationDirectory& directory,
                     const LaunchOptions& options);

/// Writes DIR/slurm/*.sh, a job array for each depth of init_from, submits them with sbatch, and a
/// last job that writes the results. Returns the ids of the jobs. Throws ConfigError when sbatch is
/// not there or refuses.
std::vector<std::string> launch_slurm(const Plan& plan, const AblationDirectory& directory,
                                      const LaunchOptions& options);

}  // namespace tapemeasure
