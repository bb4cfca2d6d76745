// SPDX-License-Identifier: MIT
// Where a program's words go: streams that are closed, full, or no longer read, and paths that lead
// to something else than a file.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "core/file/atomic_file.h"
#include "tests/cli/trained_run.h"

namespace tapemeasure {
namespace {

class StreamsTest : public testing::TrainedRun {
 protected:
  /// Exit code of the program in a shell, `redirections` behind it; no longer than ten seconds.
  int shell(const std::string& words, const std::string& redirections) const {
    const std::string command = "cd " + folder_.path() + " && XDG_CACHE_HOME=cache timeout 10 " +
                                TAPEMEASURE_BINARY + " " + words + " " + redirections;
    const int status = std::system(("bash -c 'set -o pipefail; " + command + "'").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string path(const std::string& name) const { return folder_.path(name); }
};

TEST_F(StreamsTest, AFailureThatNobodyHearsKeepsItsExitCode) {
  for (const char* nowhere : {"2>&-", "2>/dev/full", "<&- >&- 2>&-", ">/dev/full 2>&1"}) {
    EXPECT_EQ(shell("inspect missing.h5", nowhere), 4) << nowhere;
    EXPECT_EQ(shell("train missing.yaml", nowhere), 2) << nowhere;
    EXPECT_EQ(shell("frobnicate", nowhere), 2) << nowhere;
  }
}

TEST_F(StreamsTest, OutputThatIsLostIsAFailure) {
  train();
  for (const char* words : {"explain", "explain c.yaml", "list .", "verify r", "evaluate r",
                            "evaluate r --json", "generate r --prompt a --tokens 3"}) {
    EXPECT_EQ(shell(words, ">/dev/full 2>said"), 1) << words;
    const std::string said = read_file(path("said"));
    EXPECT_NE(said.find("No space left on device\n"), std::string::npos) << said;
  }
}

TEST_F(StreamsTest, AReaderThatHasSeenEnoughIsNoFailure) {
  train();
  EXPECT_EQ(shell("explain", "| true"), 0);
  // Far longer than the shell waits, were it to go on.
  EXPECT_EQ(shell("generate r --prompt a --tokens 1000000", "2>&1 | head -c 100 >start"), 0);
}

TEST_F(StreamsTest, ClosedStreamsLeaveFilesAlone) {
  train();
  ASSERT_EQ(shell("train c.yaml --run closed", "<&- >&- 2>&-"), 0);
  EXPECT_EQ(run({"verify", "closed"}).code, 0);
  for (const char* name : {"/checkpoints/step_000006.h5", "/best.h5", "/config.yaml"}) {
    EXPECT_EQ(read_file(path("r") + name), read_file(path("closed") + name)) << name;
  }
}

TEST_F(StreamsTest, PipesAndDevicesAreNoCheckpoints) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const char* verb : {"verify", "inspect", "evaluate"}) {
    EXPECT_EQ(shell(std::string(verb) + " pipe", "2>said"), 4);
    EXPECT_NE(read_file(path("said")).find("pipe: cannot read: not a file"), std::string::npos);
    expect_error({verb, "/dev/zero"}, 4, {"/dev/zero: cannot read: not a file"});
  }
}

TEST_F(StreamsTest, EndlessDevicesAreNoTexts) {
  const std::string wanted = "/dev/zero: cannot read: a device";
  expect_error({"train", "c.yaml", "--set", "data.text=/dev/zero"}, 3, {wanted});
  expect_error({"prepare", "/dev/zero", "--out", "x.h5"}, 3, {wanted});
  expect_error({"train", "/dev/zero"}, 2, {wanted});
}

TEST_F(StreamsTest, LinksInACircle) {
  ASSERT_EQ(symlink("b", path("a").c_str()), 0);
  ASSERT_EQ(symlink("a", path("b").c_str()), 0);
  for (const char* verb : {"verify", "inspect", "evaluate", "resume", "list"}) {
    expect_error({verb, "a"}, 4, {"a"});
  }
  expect_error({"explain", "a"}, 2, {"there is no key 'a'"});
  expect_error({"explain", std::string(5000, 'k')}, 2, {"there is no key 'kkk"});
}

}  // namespace
}  // namespace tapemeasure
