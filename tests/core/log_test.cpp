// SPDX-License-Identifier: MIT
// What a run says, on a terminal, on a pipe and in its file.
#include "core/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <regex>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "tests/core/temporary_folder.h"

namespace tapemeasure::testing {
namespace {

// Runs `action` in a child whose standard error is `fd`, and returns how it ended.
int run(int fd, const std::function<void()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    dup2(fd, STDERR_FILENO);
    action();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

std::string on_file(const std::function<void()>& action) {
  const TemporaryFolder folder;
  const int fd = open(folder.path("err").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  EXPECT_EQ(run(fd, action), 0);
  close(fd);
  return read_file(folder.path("err"));
}

std::string on_terminal(unsigned short columns, const std::function<void()>& action) {
  int master = -1, slave = -1;
  winsize size{24, columns, 0, 0};
  EXPECT_EQ(openpty(&master, &slave, nullptr, nullptr, &size), 0);
  EXPECT_EQ(run(slave, action), 0);
  close(slave);
  // What was written comes in pieces, and after it an error: nobody holds the other end.
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(master, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  close(master);
  return text;
}

TEST(Log, PlainLines) {
  EXPECT_EQ(on_file([] {
              Log log;
              log.info("step {} {{}}", 5);
              log.warn("{}", "{} %v");
            }),
            "step 5 {}\nwarning: {} %v\n");
}

TEST(Log, FileHasTimesAndIsAppended) {
  const TemporaryFolder folder;
  const std::string path = folder.write("log.txt", "before\n");
  on_file([&] {
    Log log(path);
    log.info("one");
    log.progress("50 %");
    log.warn("two");
    _exit(0);  // as when killed: each line is already there
  });
  const std::string time = "\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d ";
  const std::regex wanted("before\n" + time + "one\n" + time + "warning: two\n");
  EXPECT_TRUE(std::regex_match(read_file(path), wanted)) << read_file(path);
  EXPECT_THROW(Log("/dev/null/log.txt"), CheckpointError);
}

TEST(Log, ProgressElsewhereIsAPlainLineNowAndThen) {
  EXPECT_EQ(on_file([] {
              Log log;
              log.progress("1", false, 1000);
              log.progress("2", false, 1000);
              log.info("line");
              log.progress("3", false, 0);
              log.progress("4", true, 1000);
              log.progress("a", false, 1000);
            }),
            "1\nline\n3\n4\na\n");
}

TEST(Log, ProgressOnATerminalIsRedrawn) {
  EXPECT_EQ(on_terminal(80,
                        [] {
                          Log log;
                          log.progress("1");
                          log.progress("2");
                          log.info("line");
                          log.progress("3", true);
                          log.info("end");
                        }),
            "\r1\x1b[K\r2\x1b[K\r\x1b[Kline\r\n2\r3\x1b[K\r\nend\r\n");
  // Left open, it is closed so that the shell's prompt does not stand behind it.
  EXPECT_EQ(on_terminal(80, [] { Log().progress("1"); }), "\r1\x1b[K\r\n");
}

TEST(Log, SeveralLinesAreLiveTogether) {
  const auto action = [] {
    Log log;
    log.progress("a 1\nb 1\ntotal 1");
    log.progress("a 2\nb 2\ntotal 2");
    log.info("a ends");
    log.progress("b 3\ntotal 3", true);
    log.info("end");
  };
  // Back to the first row, each row cleared behind its text, and what is below when rows are fewer.
  EXPECT_EQ(on_terminal(80, action),
            "\ra 1\x1b[K\r\nb 1\x1b[K\r\ntotal 1\x1b[K"
            "\x1b[2A\ra 2\x1b[K\r\nb 2\x1b[K\r\ntotal 2\x1b[K"
            "\x1b[2A\r\x1b[Ka ends\r\na 2\x1b[K\r\nb 2\x1b[K\r\ntotal 2"
            "\x1b[2A\rb 3\x1b[K\r\ntotal 3\x1b[J\r\nend\r\n");
  EXPECT_EQ(on_file(action), "total 1\na ends\ntotal 3\nend\n");
  EXPECT_EQ(on_terminal(5, [] { Log().progress("abcdefg\nhijklmn", true); }),
            "\rabcd\x1b[K\r\nhijk\x1b[K\r\n");
}

TEST(Log, ProgressFitsTheTerminal) {
  EXPECT_EQ(on_terminal(5, [] { Log().progress("äbcdefg", true); }), "\räbcd\x1b[K\r\n");
}

TEST(Log, SurvivesABrokenPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const TemporaryFolder folder;
  const std::string path = folder.path("log.txt");
  const int status = run(ends[1], [&] {
    Log log(path);
    for (int i = 0; i < 3; ++i) log.info("line");
    log.progress("1");
  });
  close(ends[1]);
  EXPECT_EQ(status, 0);
  const std::string text = read_file(path);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

}  // namespace
}  // namespace tapemeasure::testing
