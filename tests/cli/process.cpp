// SPDX-License-Identifier: MIT
#include "tests/cli/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file/atomic_file.h"
#include "tests/core/temporary_folder.h"

namespace tapemeasure::testing {

namespace {

void become(const std::vector<std::string>& arguments, const std::string& folder,
            const std::string& out, const std::string& err) {
  const auto send = [](const std::string& path, int descriptor) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(file, descriptor);
    close(file);
  };
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  send(out, STDOUT_FILENO);
  send(err, STDERR_FILENO);
  if (chdir(folder.c_str()) != 0) _exit(126);
  setenv("XDG_CACHE_HOME", (folder + "/cache").c_str(), 1);
  std::string program = TAPEMEASURE_BINARY;
  std::vector<std::string> words = arguments;
  std::vector<char*> argv = {program.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  _exit(127);
}

}  // namespace

std::string Outcome::complaint() const {
  EXPECT_TRUE(err.starts_with("tapemeasure: ")) << err;
  EXPECT_EQ(err.find('\n'), err.size() - 1) << "not one line: " << err;
  EXPECT_TRUE(out.empty()) << out;
  return err;
}

Outcome run_program(const std::vector<std::string>& arguments, const std::string& folder) {
  const TemporaryFolder outputs;
  const pid_t child = fork();
  if (child == 0) become(arguments, folder, outputs.path("out"), outputs.path("err"));
  const int code = wait_for(child);
  return {code, read_file(outputs.path("out")), read_file(outputs.path("err"))};
}

pid_t start_program(const std::vector<std::string>& arguments, const std::string& folder) {
  const pid_t child = fork();
  if (child == 0) become(arguments, folder, "/dev/null", "/dev/null");
  return child;
}

pid_t start_group(const std::vector<std::string>& arguments, const std::string& folder) {
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    become(arguments, folder, "/dev/null", "/dev/null");
  }
  setpgid(child, child);  // whoever comes first
  return child;
}

int wait_for(pid_t process) {
  int status = 0;
  EXPECT_EQ(waitpid(process, &status, 0), process);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string source_file(const std::string& name) {
  return std::string(TAPEMEASURE_SOURCE_DIR) + "/" + name;
}

}  // namespace tapemeasure::testing
