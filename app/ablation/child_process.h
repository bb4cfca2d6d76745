// SPDX-License-Identifier: MIT
// Processes that a launcher starts.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tapemeasure {

/// Starts a program; all that it says is appended to the file `output`, whose folder is made. It
/// gets SIGTERM when this process dies. Throws CheckpointError where that cannot be.
pid_t start_process(const std::vector<std::string>& words, const std::string& output);

/// How a process ended.
struct Ending {
  int code = 0;    ///< of its exit, or 128 + signal
  int signal = 0;  ///< that ended it, or 0
};
Ending ending_of(int wait_status);

struct CommandResult {
  int code = 0;        ///< 127: there is no such program
  std::string output;  ///< standard output and standard error
};
/// Runs a program found through PATH, without a shell, and waits for it.
CommandResult run_command(const std::vector<std::string>& words);

}  // namespace tapemeasure
