// SPDX-License-Identifier: MIT
// `prepare` killed, or refused, at every call that writes: there is a whole token file under the
// name or none, and nothing else is left.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/file/atomic_file.h"
#include "data/prepare.h"
#include "tests/core/temporary_folder.h"

namespace tapemeasure {
namespace {

using testing::TemporaryFolder;

struct Outcome {
  int status = 0;
  std::string output;
};

Outcome run_prepare(const TemporaryFolder& folder, const std::string& out, int at,
                    const std::string& action) {
  const TemporaryFolder aside;
  const std::string output = aside.path("output"), text = folder.path("a.txt");
  const pid_t child = fork();
  if (child == 0) {
    setenv("LD_PRELOAD", FAULT_SHIM, 1);
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
    setenv("GOMP_SPINCOUNT", "0", 1);  // or the program would begin again
    setenv("FAULT_AT", std::to_string(at).c_str(), 1);
    setenv("FAULT_ACTION", action.c_str(), 1);
    const int fd = open(output.c_str(), O_CREAT | O_WRONLY, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    close(fd);
    execl(TAPEMEASURE_BINARY, TAPEMEASURE_BINARY, "prepare", text.c_str(), "--out", out.c_str(),
          "--tokenizer", "char", nullptr);
    _exit(127);
  }
  Outcome outcome;
  waitpid(child, &outcome.status, 0);
  outcome.output = read_file(output);
  return outcome;
}

size_t files_in(const TemporaryFolder& folder) {
  const std::filesystem::directory_iterator all(folder.path());
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST(PrepareFaults, KilledAtEveryCall) {
  for (const char* action : {"before", "half", "after"}) {
    const TemporaryFolder folder;
    const std::string out = folder.path("a.h5");
    folder.write("a.txt", std::string(500'000, 'x') + "end");
    int at = 1;
    for (;; ++at) {
      std::filesystem::remove(out);
      const Outcome outcome = run_prepare(folder, out, at, action);
      remove_leftovers(folder.path());
      const bool there = std::filesystem::exists(out);
      EXPECT_EQ(files_in(folder), there ? 2u : 1u);
      if (there) {
        EXPECT_EQ(TokenFile(out).bytes(Split::kTrain), 450002) << action << " " << at;
      }
      if (WIFSIGNALED(outcome.status)) continue;
      EXPECT_EQ(outcome.status, 0) << outcome.output;
      EXPECT_TRUE(there);
      break;
    }
    EXPECT_GT(at, 8);  // three splits, the file piece by piece, its block, fsync, rename, fsync
  }
}

TEST(PrepareFaults, RefusedAtEveryCall) {
  const TemporaryFolder folder;
  const std::string out = folder.path("a.h5");
  folder.write("a.txt", std::string(500'000, 'x') + "end");
  ASSERT_EQ(run_prepare(folder, out, 0, "5").status, 0);
  const std::string good = read_file(out);
  for (const int error : {ENOSPC, EIO}) {
    for (int at = 1;; ++at) {
      const Outcome outcome = run_prepare(folder, out, at, std::to_string(error));
      ASSERT_TRUE(WIFEXITED(outcome.status)) << at;
      EXPECT_EQ(files_in(folder), 2u) << at;
      EXPECT_EQ(read_file(out), good) << at;
      if (outcome.status == 0) break;
      EXPECT_EQ(WEXITSTATUS(outcome.status), 3) << outcome.output;
      EXPECT_NE(outcome.output.find(out + ": cannot write"), std::string::npos) << outcome.output;
      EXPECT_NE(outcome.output.find(strerror(error)), std::string::npos) << outcome.output;
    }
  }
}

}  // namespace
}  // namespace tapemeasure
