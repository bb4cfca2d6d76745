// SPDX-License-Identifier: MIT
// Atomic files: what is on disk after a kill or a failure at every call that writing makes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/hdf5_file.h"
#include "tests/core/error_of.h"
#include "tests/core/temporary_folder.h"

namespace tapemeasure::testing {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

struct Outcome {
  int status;
  std::string output;
};

// Runs fault_writer with the shim; the n-th call goes wrong.
Outcome run_writer(const std::string& path, int tag, int at, const std::string& action) {
  const TemporaryFolder folder;
  const std::string output = folder.path("output");
  const std::string number = std::to_string(tag);
  const pid_t child = fork();
  if (child == 0) {
    setenv("LD_PRELOAD", FAULT_SHIM, 1);
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
    setenv("FAULT_AT", std::to_string(at).c_str(), 1);
    setenv("FAULT_ACTION", action.c_str(), 1);
    dup2(open(output.c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO);
    execl(FAULT_WRITER, FAULT_WRITER, path.c_str(), number.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return {status, read_file(output)};
}

// R26, R37: killed at every call, what is under the name is complete, and the last one completed.
TEST(AtomicFile, SurvivesAKillAtEveryCall) {
  for (const char* action : {"before", "half", "after"}) {
    const TemporaryFolder folder;
    const std::string path = folder.path("state.h5");
    int64_t last = 1;
    ASSERT_EQ(run_writer(path, 1, 0, action).status, 0);
    int at = 1;
    for (;; ++at) {
      const int64_t tag = 100 + at;
      const Outcome outcome = run_writer(path, static_cast<int>(tag), at, action);
      const Hdf5Reader reader(path);
      reader.verify();
      const int64_t found = reader.integer("tag");
      EXPECT_TRUE(found == last || found == tag) << action << " " << at;
      last = found;
      const std::vector<std::string> left = remove_leftovers(folder.path());
      EXPECT_LE(left.size(), 1u);
      EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"state.h5"});
      if (!WIFSIGNALED(outcome.status)) {
        EXPECT_EQ(outcome.status, 0) << outcome.output;
        EXPECT_EQ(found, tag);
        break;
      }
    }
    EXPECT_EQ(at,
              6);  // two writes, fsync, rename, fsync of the folder; then nothing is left to kill
  }
}

// R27, R28, R32: a call that fails leaves the old file, no neighbour, and a message; nothing
// aborts.
TEST(AtomicFile, SurvivesAFailureOfEveryCall) {
  const TemporaryFolder folder;
  const std::string path = folder.path("state.h5");
  ASSERT_EQ(run_writer(path, 1, 0, "5").status, 0);
  for (const int error : {ENOSPC, EIO, EROFS, EDQUOT}) {
    for (int at = 1; at <= 4; ++at) {
      const Outcome outcome = run_writer(path, 2, at, std::to_string(error));
      ASSERT_TRUE(WIFEXITED(outcome.status));
      EXPECT_EQ(WEXITSTATUS(outcome.status), static_cast<int>(ExitCode::kCheckpoint));
      EXPECT_TRUE(outcome.output.starts_with(path + ": cannot write: " + strerror(error)))
          << outcome.output;
      const bool full = error == ENOSPC || error == EDQUOT;
      EXPECT_EQ(outcome.output.find(" bytes needed, ") != std::string::npos, full);
      EXPECT_EQ(Hdf5Reader(path).integer("tag"), 1);
      EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"state.h5"});
    }
  }
  // An interrupted call is repeated.
  for (const int at : {1, 2, 3, 5}) EXPECT_EQ(run_writer(path, 3, at, "4").status, 0);
  EXPECT_EQ(Hdf5Reader(path).integer("tag"), 3);
}

// R32: a read-only folder.
TEST(AtomicFile, ReadOnlyFolder) {
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms(0755));
  const std::string closed = folder.path("closed");
  fs::create_directory(closed);
  fs::permissions(closed, fs::perms(0555));
  const pid_t child = fork();
  if (child == 0) {
    // Nothing is read-only for root.
    if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
    const std::string error = error_of<Error>([&] { write_atomically(closed + "/a", "text"); });
    _exit(error == closed + "/a: cannot write: Permission denied" ? 0 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::is_empty(closed));
}

TEST(AtomicFile, WritesAndReads) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.txt");
  write_atomically(path, "one");
  EXPECT_EQ(read_file(path), "one");
  const std::string large(3'000'000, 'x');
  write_atomically(path, large);
  EXPECT_EQ(read_file(path), large);
  write_atomically(path, "");
  EXPECT_EQ(read_file(path), "");
  EXPECT_EQ(names_in(folder.path()).size(), 1u);
}

TEST(AtomicFile, SaysWhyNot) {
  const TemporaryFolder folder;
  const std::string nowhere = folder.path("none/a");
  EXPECT_EQ(error_of<Error>([&] { write_atomically(nowhere, "x"); }),
            nowhere + ": cannot write: No such file or directory");
  fs::create_directory(folder.path("b"));
  EXPECT_NE(error_of<Error>([&] { write_atomically(folder.path("b"), "x"); }).find("directory"),
            std::string::npos);
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"b"});
  EXPECT_EQ(error_of<Error>([&] { read_file(folder.path("b")); }),
            folder.path("b") + ": cannot read: a folder");
  EXPECT_THROW(read_file(nowhere), DataError);
}

TEST(AtomicFile, RemovesOnlyWhatDeadProcessesLeft) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  const std::string dead = fmt::format(".a.b.h5.{}.tmp", child);
  folder.write(dead, "");
  AtomicWriter living(folder.path("a.h5"), 0);
  for (const char* other :
       {"b.h5", ".a.h5.tmp", ".tmp", "..tmp", ".a.x1.tmp", ".a.-5.tmp", ".a.0.tmp"})
    folder.write(other, "");
  EXPECT_EQ(remove_leftovers(folder.path()), std::vector<std::string>{dead});
  EXPECT_EQ(names_in(folder.path()).size(), 8u);
  living.commit();
  EXPECT_TRUE(remove_leftovers(folder.path()).empty());
  EXPECT_TRUE(remove_leftovers(folder.path("none")).empty());
}

// In a container the next program has the id of the one that was killed.
TEST(AtomicFile, RemovesWhatAnotherProcessOfTheSameIdLeft) {
  const TemporaryFolder folder;
  const std::vector<std::string> left = {fmt::format(".a.h5.{}.tmp", getpid()), ".b.h5.1.tmp"};
  for (const std::string& name : left) folder.write(name, "half a file, longer than the next");
  EXPECT_EQ(remove_leftovers(folder.path()), left);
  // And what was not removed is written over, not on.
  folder.write(left[0], "half a file, longer than the next");
  write_atomically(folder.path("a.h5"), "whole");
  EXPECT_EQ(read_file(folder.path("a.h5")), "whole");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a.h5"});
}

// Files in the making by several processes, and one that clears up all the while: all get done.
TEST(AtomicFile, ClearingUpTakesNothingFromThoseWhoWrite) {
  const TemporaryFolder folder;
  std::vector<pid_t> writers;
  for (int writer = 0; writer < 3; ++writer) {
    writers.push_back(fork());
    if (writers.back() != 0) continue;
    try {
      for (int time = 0; time < 300; ++time) write_atomically(folder.path("a"), "x");
    } catch (const Error&) {
      _exit(1);
    }
    _exit(0);
  }
  for (const pid_t writer : writers) {
    int status = 0;
    while (waitpid(writer, &status, WNOHANG) == 0) remove_leftovers(folder.path());
    EXPECT_EQ(status, 0);
  }
}

TEST(AtomicFile, Sha256) {
  const std::string abc = "abc";  // FIPS 180-2, appendix B.1
  EXPECT_EQ(sha256(std::as_bytes(std::span(abc))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace
}  // namespace tapemeasure::testing
