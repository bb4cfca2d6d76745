// SPDX-License-Identifier: MIT
// A training run from its beginning, or from where it was stopped, to its end: what the verbs train
// and resume do, and a cell of an ablation.
#pragma once

#include <functional>
#include <string>

#include "app/experiment.h"
#include "app/run_directory.h"
#include "core/log.h"

namespace tapemeasure {

/// Of a run directory: the checkpoint whose weights the run started from, where there was one.
inline constexpr const char* kInitFromFile = "init_from.txt";

/// What beginning a run needs beside its experiment.
struct RunStart {
  std::string cache = {};          ///< where prepared texts are kept
  std::string init_from = {};      ///< a checkpoint or run whose weights it starts from, or ""
  std::string allow_missing = {};  ///< glob of parameters that those may lack or have too many of
  std::string profile = {};        ///< a file for the times of one step, or ""
  /// Called once the directory has its config.yaml, before the first step.
  using Begun = std::function<void(const RunDirectory&, Log&)>;
  Begun begun = {};
};

/// Trains in a fresh directory. Returns the exit code: 0, or 128 + signal. What cannot be trained
/// leaves no directory behind.
int begin_run(Experiment experiment, const RunDirectory& directory, const RunStart& start);

/// True if a run kept with the config `stored` has nothing left to do under `now`, results
/// included. Only reads.
bool already_complete(const Experiment& stored, const Experiment& now,
                      const RunDirectory& directory);

/// Goes on with the run in the directory, as `experiment` says; what must not change then is
/// refused. `start.init_from` plays no part. Returns the exit code: 0, also when there is nothing
/// left to do, or 128 + signal.
int resume_run(const Experiment& experiment, const RunDirectory& directory, const RunStart& start);

/// The config that a run directory holds. Throws CheckpointError when it is none.
Config config_of(const RunDirectory& directory);

}  // namespace tapemeasure
