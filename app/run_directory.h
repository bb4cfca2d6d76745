// SPDX-License-Identifier: MIT
// The directory of a run: everything that a table or a plot needs, and nothing else anywhere.
//   config.yaml    complete      metrics.jsonl  one row a step    log.txt    what was said
//   results.json   at the end    checkpoints/step_000250.h5       best.h5    lowest validation loss
//   init_from.txt  the checkpoint whose weights it started from, where there was one
//   lock           pid and host of the process that trains here
//   tensorboard/   metrics.jsonl once more, for TensorBoard
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/file/folder.h"

namespace tapemeasure {

class RunDirectory {
 public:
  /// Names only; nothing is made or read.
  explicit RunDirectory(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string checkpoint(int64_t step) const;
  /// Steps of the checkpoints that are there, ascending.
  std::vector<int64_t> checkpoints() const;
  bool exists() const;

  /// Throws CheckpointError when a run is there already, or checkpoints of one.
  void check_free() const;
  /// Makes the folder and its checkpoints/. Throws CheckpointError when it cannot, or when it is
  /// not free.
  void create() const;
  /// Only the folders, where they are missing.
  void create_folders() const;
  /// Deletes the oldest checkpoints, by number, until `keep` are left.
  void rotate(int64_t keep) const;
  /// Renames a checkpoint to NAME.damaged: kept for a person to look at, no longer one of the
  /// run's.
  void set_aside(int64_t step) const;

 private:
  std::string path_;
};

/// Holds a run directory for one trainer.
struct RunLock : FolderLock {
  explicit RunLock(const RunDirectory& directory, std::chrono::seconds patience = {})
      : FolderLock(directory.path(), "trainer", patience) {}
};

/// Names a run directory that does not exist yet: "runs/NAME", "runs/NAME-2", ...
std::string fresh_run_path(const std::string& config_path);

}  // namespace tapemeasure
