// SPDX-License-Identifier: MIT
// The program as a user runs it: a process with arguments, and what comes of it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tapemeasure::testing {

struct Outcome {
  int code = -1;  ///< of the exit, or 128 + the signal that ended it
  std::string out, err;

  /// What is said of a failure: standard error, which must be one line that begins "tapemeasure: ".
  std::string complaint() const;
};

/// Runs tapemeasure with these arguments in `folder` and waits for it. Its cache is kept in
/// `folder` too.
Outcome run_program(const std::vector<std::string>& arguments, const std::string& folder);
/// Starts it and does not wait; its output is lost.
pid_t start_program(const std::vector<std::string>& arguments, const std::string& folder);
/// The same as the first of a process group of its own, so that kill(-pid) reaches all it starts.
pid_t start_group(const std::vector<std::string>& arguments, const std::string& folder);
/// Waits for a process: the code of its exit, or 128 + the signal that ended it.
int wait_for(pid_t process);

/// A file of the sources.
std::string source_file(const std::string& name);

}  // namespace tapemeasure::testing
