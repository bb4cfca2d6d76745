// SPDX-License-Identifier: MIT
#include "app/ablation/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/folder.h"

namespace tapemeasure {

namespace {

constexpr int kNoProgram = 127;  // as a shell says it

/// Pointers into `words`, as exec wants them.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// In the child, where only what is safe in a signal handler may be called.
[[noreturn]] void become(char* const* words, int output, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(128 + SIGTERM);  // it died before it could be watched
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execvp(words[0], words);
  _exit(kNoProgram);
}

pid_t spawn(std::vector<std::string> words, int output) {
  const std::vector<char*> pointers = pointers_to(words);
  const pid_t parent = getpid();
  const pid_t child = fork();
  check<CheckpointError>(child >= 0, "{}: cannot be started: {}", words[0], std::strerror(errno));
  if (child == 0) become(pointers.data(), output, parent);
  return child;
}

}  // namespace

pid_t start_process(const std::vector<std::string>& words, const std::string& output) {
  make_folder(folder_of(output));
  const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  check<CheckpointError>(file >= 0, "{}: cannot be written: {}", output, std::strerror(errno));
  try {
    const pid_t child = spawn(words, file);
    close(file);
    return child;
  } catch (...) {
    close(file);
    throw;
  }
}

Ending ending_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {128 + WTERMSIG(wait_status), WTERMSIG(wait_status)};
  return {WEXITSTATUS(wait_status), 0};
}

CommandResult run_command(const std::vector<std::string>& words) {
  int ends[2];
  check<CheckpointError>(pipe2(ends, O_CLOEXEC) == 0, "{}: no pipe: {}", words[0],
                         std::strerror(errno));
  const pid_t child = spawn(words, ends[1]);
  close(ends[1]);
  CommandResult result;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (got > 0) result.output.append(buffer, static_cast<size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  result.code = ending_of(status).code;
  return result;
}

}  // namespace tapemeasure
