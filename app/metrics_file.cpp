// SPDX-License-Identifier: MIT
#include "app/metrics_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "app/metrics.h"
#include "core/error.h"

namespace tapemeasure {

MetricsFile::MetricsFile(const RunDirectory& directory, int64_t step, Log& log)
    : path_(directory.file("metrics.jsonl")), log_(log), file_(nullptr, std::fclose) {
  cut_metrics(directory, step);
  file_.reset(std::fopen(path_.c_str(), "a"));
  check<CheckpointError>(file_ != nullptr, "{}: cannot be written: {}", path_,
                         std::strerror(errno));
  try {
    events_ = std::make_unique<EventFile>(directory.file("tensorboard"), path_);
  } catch (const CheckpointError& error) {
    log_.warn("no TensorBoard files: {}", error.what());
  }
}

void MetricsFile::write(const std::string& row) {
  const bool written =
      std::fputs((row + "\n").c_str(), file_.get()) >= 0 && std::fflush(file_.get()) == 0;
  check<CheckpointError>(written, "{}: cannot write: {}", path_, std::strerror(errno));
  mirror(row);
}

void MetricsFile::mirror(const std::string& row) {
  if (!events_ || (events_->add(row) && events_->flush_sometimes())) return;
  log_.warn("no more TensorBoard files: cannot write: {}", std::strerror(errno));
  events_.reset();
}

void MetricsFile::sync() {
  check<CheckpointError>(fsync(fileno(file_.get())) == 0, "{}: cannot write: {}", path_,
                         std::strerror(errno));
}

}  // namespace tapemeasure
