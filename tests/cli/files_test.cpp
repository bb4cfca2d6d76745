// SPDX-License-Identifier: MIT
// inspect, verify and list: what files hold, whether they are whole, and how far runs came.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "core/file/atomic_file.h"
#include "tests/cli/trained_run.h"

namespace tapemeasure {
namespace {

using testing::Outcome;

class FilesTest : public testing::TrainedRun {
 protected:
  void damage(const std::string& name, const std::function<void(std::string&)>& change) {
    std::string bytes = read_file(folder_.path(name));
    change(bytes);
    write_atomically(folder_.path(name), bytes);
  }
  /// The line of `list` about one run.
  std::string line_of(const std::string& directory) {
    const Outcome listed = run({"list", directory});
    EXPECT_EQ(listed.code, 0) << listed.err;
    const size_t begin = listed.out.find('\n') + 1;
    EXPECT_EQ(listed.out.find('\n', begin), listed.out.size() - 1) << listed.out;
    return listed.out.substr(begin);
  }
  bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_F(FilesTest, InspectShowsWhatACheckpointHolds) {
  train();
  const Outcome outcome = run({"inspect", "r/best.h5"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("r/best.h5: tapemeasure-checkpoint 1\n")) << outcome.out;
  for (const char* part : {"parameters/embedding.weight", "[10, 16]", "optimizer/", "trainer/step",
                           "data/0/sha256", "3728 parameters\n", "tokenizer: char"}) {
    EXPECT_TRUE(holds(outcome.out, part)) << part;
  }
}

TEST_F(FilesTest, InspectShowsWhatATokenFileHolds) {
  ASSERT_EQ(run({"prepare", "a.txt", "--out", "a.h5", "--tokenizer", "char"}).code, 0);
  const Outcome outcome = run({"inspect", "a.h5"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(holds(outcome.out, "tapemeasure-tokens 2"));
  EXPECT_TRUE(holds(outcome.out, "train/tokens"));
  EXPECT_TRUE(holds(outcome.out, "[2700]"));
}

TEST_F(FilesTest, WrongFilesAreTold) {
  expect_error({"inspect", "no.h5"}, 4, {"no.h5", "No such file"});
  expect_error({"inspect", "a.txt"}, 4, {"a.txt"});
  expect_error({"inspect", "."}, 4, {"a folder"});
  expect_error({"verify", "no.h5"}, 4, {"no.h5", "No such file"});
  expect_error({"verify", "a.txt"}, 4, {"a.txt"});
  expect_error({"verify", "."}, 4, {"no checkpoints here"});
  expect_error({"list", "no"}, 4, {"no: not a folder"});
  expect_error({"evaluate", "no"}, 4, {"no", "No such file"});
  expect_error({"evaluate", "."}, 4, {"not a run directory"});
  expect_error({"generate", "a.txt", "--prompt", "a"}, 4, {"a.txt"});
  ASSERT_EQ(run({"prepare", "a.txt", "--out", "a.h5"}).code, 0);
  expect_error({"generate", "a.h5", "--prompt", "a"}, 4, {"a.h5", "tapemeasure-tokens 2"});
}

TEST_F(FilesTest, VerifyFindsDamage) {
  train();
  const Outcome good = run({"verify", "r"});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(good.out,
            "r/checkpoints/step_000003.h5: whole\nr/checkpoints/step_000006.h5: whole\n"
            "r/best.h5: whole\n");
  damage("r/best.h5", [](std::string& bytes) { bytes[bytes.size() / 2] ^= 16; });
  damage("r/checkpoints/step_000006.h5", [](std::string& bytes) { bytes.resize(5000); });
  expect_error({"verify", "r/best.h5"}, 4, {"r/best.h5"});
  expect_error({"verify", "r/checkpoints/step_000006.h5"}, 4, {"step_000006.h5"});
  const Outcome bad = run({"verify", "r"});
  EXPECT_EQ(bad.code, 4);
  EXPECT_TRUE(holds(bad.out, "step_000003.h5: whole\n")) << bad.out;
  EXPECT_FALSE(holds(bad.out, "best.h5: whole")) << bad.out;
  EXPECT_EQ(bad.err, "tapemeasure: 2 of 3 files are not whole\n");
}

TEST_F(FilesTest, ListShowsFinishedAndStoppedRuns) {
  train();
  ASSERT_EQ(run({"train", "c.yaml", "--run", "s", "--set", "trainer.max_minutes=1e-9"}).code, 0);
  const std::string finished = line_of("r"), stopped = line_of("s");
  EXPECT_TRUE(holds(finished, "r ") && holds(finished, " learned ") && holds(finished, " 6/6 ") &&
              holds(finished, "  finished\n"))
      << finished;
  EXPECT_TRUE(holds(stopped, "/6 ") && holds(stopped, "  stopped\n")) << stopped;
  const Outcome both = run({"list", "."});
  EXPECT_TRUE(holds(both.out, "./r ") && holds(both.out, "./s ")) << both.out;
  const Outcome named = run({"list", "s", "r"});
  EXPECT_TRUE(holds(named.out, "\ns ") && holds(named.out, "\nr ")) << named.out;
}

TEST_F(FilesTest, ListLooksBelowFoldersButNotIntoRuns) {
  train();
  const auto move = [&](const std::string& from, const std::string& to) {
    std::filesystem::create_directories(std::filesystem::path(folder_.path(to)).parent_path());
    std::filesystem::copy(folder_.path(from), folder_.path(to),
                          std::filesystem::copy_options::recursive);
  };
  const std::string deep = "all/runs/an-arm-with-a-long-name/seed-1";
  move("r", deep);
  move("r", "all/runs/arm/seed-2");
  move("r", "all/runs/arm/seed-2/inside");
  std::filesystem::create_directory_symlink(folder_.path("all"), folder_.path("all/again"));
  const Outcome listed = run({"list", "all"});
  ASSERT_EQ(listed.code, 0) << listed.err;
  EXPECT_EQ(std::count(listed.out.begin(), listed.out.end(), '\n'), 3) << listed.out;
  EXPECT_TRUE(holds(listed.out, deep + " learned ")) << listed.out;
  EXPECT_TRUE(holds(listed.out, "all/runs/arm/seed-2     ")) << listed.out;
}

TEST_F(FilesTest, ListShowsHowFarAnUnfinishedRunCame) {
  train();
  const std::string best = line_of("r").substr(66, 10);
  std::filesystem::remove(folder_.path("r/results.json"));
  const std::string line = line_of("r");
  EXPECT_TRUE(holds(line, " 6/6 ") && holds(line, best) && holds(line, "  unfinished\n")) << line;
  // Results from before a resume that went on are not the last word.
  write_atomically(folder_.path("r/results.json"), "{\"state\": \"stopped\", \"steps\": 4}");
  EXPECT_TRUE(holds(line_of("r"), "  unfinished\n")) << line_of("r");
  write_atomically(folder_.path("r/results.json"), "{");
  EXPECT_TRUE(holds(line_of("r"), "not JSON")) << line_of("r");
}

TEST_F(FilesTest, ListShowsWhoTrainsNow) {
  const pid_t child = testing::start_program(
      {"train", "c.yaml", "--run", "r", "--set", "trainer.steps=1e9"}, folder_.path());
  std::string line;
  const std::string wanted = "  training (pid " + std::to_string(child) + " on ";
  for (int wait = 0; wait < 200 && !(holds(line, wanted) && !holds(line, " - ")); ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (std::filesystem::exists(folder_.path("r/config.yaml"))) line = line_of("r");
  }
  EXPECT_TRUE(holds(line, wanted)) << line;
  EXPECT_FALSE(holds(line, " - ")) << "the best loss so far: " << line;
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  // Its lock is still there, but nobody holds it.
  EXPECT_TRUE(std::filesystem::exists(folder_.path("r/lock")));
  EXPECT_TRUE(holds(line_of("r"), "  unfinished\n")) << line_of("r");
}

}  // namespace
}  // namespace tapemeasure
