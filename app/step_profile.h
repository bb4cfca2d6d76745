// SPDX-License-Identifier: MIT
// Where the time of one training step goes, for people: a file in Chrome's trace format (open it in
// chrome://tracing or ui.perfetto.dev) and the heaviest kernels as lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace.h"

namespace tapemeasure {

class StepProfile {
 public:
  /// Of the third step of a process, when everything is prepared, or of its last one before.
  explicit StepProfile(std::string path) : path_(std::move(path)) {}

  Trace& trace() { return trace_; }
  const std::string& path() const { return path_; }
  /// To be called before each step: `here` steps were done by this process, `left` are to come.
  void before_step(int64_t here, int64_t left);
  /// After it. True if that step was recorded: then the file is written (atomically). Throws Error
  /// where it cannot be.
  bool after_step();

 private:
  std::string path_;
  Trace trace_;
  bool done_ = false;
};

/// The kernels of a step by time, "gemm 61.0 %, 24 calls, 12.3 ms, 187 GFLOP/s", the heaviest
/// first, those below 1 % as one.
std::vector<std::string> heaviest_kernels(const std::vector<Trace::Interval>& intervals);

/// The intervals as a JSON object in Chrome's trace event format.
std::string chrome_trace(const std::vector<Trace::Interval>& intervals);

}  // namespace tapemeasure
