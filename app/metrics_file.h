// SPDX-License-Identifier: MIT
// metrics.jsonl of a run as its trainer writes it, and TensorBoard's files beside it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "app/run_directory.h"
#include "app/tensorboard/event_file.h"
#include "core/log.h"

namespace tapemeasure {

class MetricsFile {
 public:
  /// Cuts the file behind `step` and goes on there. `log` must outlive it. Throws CheckpointError
  /// where it cannot be written; TensorBoard's files only repeat it, so that they cannot is a
  /// warning, here and later.
  MetricsFile(const RunDirectory& directory, int64_t step, Log& log);

  /// A row of metrics.h; others can read it when this returns. Throws CheckpointError.
  void write(const std::string& row);
  /// Brings what was written to disk. Throws CheckpointError.
  void sync();

 private:
  void mirror(const std::string& row);

  std::string path_;
  Log& log_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::unique_ptr<EventFile> events_;  // null once it could not be written
};

}  // namespace tapemeasure
