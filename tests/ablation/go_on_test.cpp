// SPDX-License-Identifier: MIT
// Ablations that are finished, cut at any moment, stopped, changed, and gone on with.
#include <signal.h>
#include <sys/wait.h>

#include <random>

#include "tests/ablation/ablation_fixture.h"

namespace tapemeasure::testing {
namespace {

using GoOn = Ablation;
namespace fs = std::filesystem;

TEST_F(GoOn, AFinishedAblationIsLeftAlone) {
  ASSERT_EQ(ablate("six.yaml", "a").code, 0);
  const std::string table = read_file(file("a/table.md"));
  EXPECT_TRUE(holds(table, "| learned |") && holds(table, " ± ")) << table;
  EXPECT_FALSE(holds(table, "Missing")) << table;
  const auto runs = times("a/runs"), measured = times("a/measured"), output = times("a/output");
  EXPECT_EQ(measured.size(), 12u);
  const std::string before = results("a");
  ASSERT_EQ(ablate("six.yaml", "a").code, 0);
  EXPECT_EQ(times("a/runs"), runs);
  EXPECT_EQ(times("a/measured"), measured);
  EXPECT_EQ(times("a/output"), output);
  EXPECT_EQ(results("a"), before);
}

// R148: a sweep that was killed had to be started over.
TEST_F(GoOn, KilledAnywhereItGivesTheSameBytes) {
  ASSERT_EQ(ablate("six.yaml", "whole", {"--jobs", "1"}).code, 0);
  const std::string whole = results("whole");
  std::mt19937 random(20);
  int kills = 0;
  for (int i = 0; i < 200 && kills < 8; ++i) {
    const pid_t group = start("six.yaml", "cut");
    const auto wait = std::uniform_int_distribution<int>(10, 150)(random);
    std::this_thread::sleep_for(std::chrono::milliseconds(wait));
    kill(-group, SIGKILL);
    if (wait_for(group) == 128 + SIGKILL)
      ++kills;
    else
      fs::remove_all(file("cut"));  // a fast machine was through: once more from the beginning
  }
  EXPECT_GE(kills, 5);
  ASSERT_EQ(ablate("six.yaml", "cut", {"--jobs", "2"}).code, 0);
  EXPECT_EQ(results("cut"), whole);
}

// A killed parent takes nobody's work along and leaves nobody behind.
TEST_F(GoOn, CellsStopWhenTheirParentIsKilled) {
  folder_.write("long.yaml", std::string(kSixCells) + "set: [trainer.steps=100000]\n");
  const pid_t parent = start("long.yaml", "a");
  const RunDirectory run = directory("a").run({"learned", 1});
  ASSERT_TRUE(comes_true([&] { return run.checkpoints().size() > 1; }));
  kill(parent, SIGKILL);
  wait_for(parent);
  for (const char* arm : {"learned", "none"}) {
    const std::string folder = directory("a").run({arm, 1}).path();
    EXPECT_TRUE(comes_true([&] { return lock_holder(folder).empty(); })) << arm;
  }
  EXPECT_TRUE(holds(read_file(run.file("log.txt")), "stopped by a signal and saved"));
}

TEST_F(GoOn, ATermSignalLetsCellsSave) {
  ASSERT_EQ(ablate("six.yaml", "whole").code, 0);
  const pid_t parent = start("six.yaml", "a");
  ASSERT_TRUE(comes_true([&] { return fs::exists(file("a/runs/learned/seed-1/metrics.jsonl")); }));
  kill(parent, SIGTERM);
  EXPECT_EQ(wait_for(parent), 128 + SIGTERM);
  EXPECT_FALSE(directory("a").failure({"learned", 1}));
  EXPECT_FALSE(fs::exists(file("a/runs/alibi/seed-2")));  // nothing was started any more
  EXPECT_TRUE(fs::exists(file("a/table.md")));
  EXPECT_EQ(ablate("six.yaml", "a").code, 0);
  EXPECT_EQ(results("a"), results("whole"));
}

// A cell that cannot answer: the second signal is the last.
TEST_F(GoOn, ASecondSignalKills) {
  folder_.write("long.yaml", std::string(kSixCells) + "set: [trainer.steps=1000000]\n");
  const pid_t parent = start("long.yaml", "a");
  ASSERT_TRUE(comes_true([&] { return fs::exists(file("a/runs/none/seed-1/metrics.jsonl")); }));
  const pid_t cell = holder_of(file("a/runs/none/seed-1/lock"));
  ASSERT_GT(cell, 1);
  kill(cell, SIGSTOP);
  kill(parent, SIGTERM);
  // One that is not yet in its first step has nothing to save: it leaves its lock file behind.
  EXPECT_TRUE(comes_true([&] { return lock_holder(file("a/runs/learned/seed-1")).empty(); }));
  EXPECT_EQ(waitpid(parent, nullptr, WNOHANG), 0);
  // One that comes while the first is still pending is the same to the kernel: until it is taken.
  EXPECT_TRUE(comes_true([&] {
    kill(parent, SIGTERM);
    return kill(cell, 0) != 0;
  }));
  EXPECT_EQ(wait_for(parent), 128 + SIGTERM);
}

TEST_F(GoOn, ADeletedRunAloneIsMadeAgain) {
  ASSERT_EQ(ablate("six.yaml", "a").code, 0);
  const std::string before = results("a");
  auto others = times("a/runs");
  fs::remove_all(file("a/runs/none/seed-2"));
  std::erase_if(others, [](const auto& each) { return holds(each.first, "none/seed-2"); });
  ASSERT_EQ(ablate("six.yaml", "a").code, 0);
  EXPECT_EQ(results("a"), before);
  auto now = times("a/runs");
  EXPECT_GT(std::erase_if(now, [](const auto& each) { return holds(each.first, "none/seed-2"); }),
            0u);
  EXPECT_EQ(now, others);
}

TEST_F(GoOn, AChangedMeasureIsMeasuredAgainAndNothingTrained) {
  ASSERT_EQ(ablate("six.yaml", "a").code, 0);
  const auto runs = times("a/runs"), measured = times("a/measured");
  const std::string before = results("a");
  std::string plan = kSixCells;
  plan.replace(plan.find("length: 16"), 10, "length: 4");
  folder_.write("six.yaml", plan);
  ASSERT_EQ(ablate("six.yaml", "a").code, 0);
  EXPECT_EQ(times("a/runs"), runs);
  for (const auto& [path, time] : times("a/measured"))
    EXPECT_EQ(measured.at(path) == time, holds(path, "loss8")) << path;
  EXPECT_NE(results("a"), before);
}

TEST_F(GoOn, AChangedConfigIsRefusedByItsKey) {
  ASSERT_EQ(ablate("six.yaml", "a").code, 0);
  const auto runs = times("a/runs");
  for (const auto& [set, key] : std::map<std::string, std::string>{
           {"model.position.kind=rope", "model.position.kind"},
           {"optimizer.learning_rate=0.5", "optimizer.learning_rate"},
           {"trainer.patience=3", "trainer.patience"},
           {"trainer.steps=61", "schedule.steps"}}) {
    std::string plan = kSixCells;
    plan.insert(plan.find("learned: {}") + 10, "set: [" + set + "]");
    folder_.write("changed.yaml", plan);
    const Outcome outcome = ablate("changed.yaml", "a");
    EXPECT_EQ(outcome.code, 2) << set;
    const std::string complaint = outcome.complaint();
    EXPECT_TRUE(holds(complaint, key) && holds(complaint, "--out") &&
                holds(complaint, "a/runs/learned/seed-1"))
        << complaint;
    // A table of what is there would call other runs by the plan's names.
    const Outcome collected = ablate("changed.yaml", "a", {"--collect"});
    EXPECT_EQ(collected.code, 2) << set;
    EXPECT_EQ(collected.complaint(), complaint);
  }
  EXPECT_EQ(times("a/runs"), runs);
}

TEST_F(GoOn, TwoAtOnceGiveTheBytesOfOne) {
  ASSERT_EQ(ablate("six.yaml", "one", {"--jobs", "1"}).code, 0);
  ASSERT_EQ(ablate("six.yaml", "two", {"--jobs", "2"}).code, 0);
  EXPECT_EQ(results("one"), results("two"));
}

TEST_F(GoOn, OneAblationAtATimeInADirectory) {
  fs::create_directories(file("a"));
  const FolderLock lock(file("a"), "ablation");
  const Outcome outcome = ablate("six.yaml", "a");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_TRUE(holds(outcome.complaint(), fmt::format("pid {} on ", getpid())));
  EXPECT_FALSE(fs::exists(file("a/runs")));
}

// Its file was edited while the ablation was stopped: nothing is put beside what it was before.
TEST_F(GoOn, ATextThatChangesBetweenCellsIsRefused) {
  ASSERT_EQ(ablate("six.yaml", "a", {"--cell", "none/seed-1"}).code, 0);
  const std::string text = read_file(file("a.txt"));
  folder_.write("a.txt", text + "\r\nmore");
  const Outcome outcome = ablate("six.yaml", "a", {"--jobs", "1"});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_TRUE(holds(outcome.err, "a.txt: the text has changed between two cells") &&
              holds(outcome.err, "none/seed-1 had ") && holds(outcome.err, "--out"))
      << outcome.err;
  const Outcome collected = ablate("six.yaml", "a", {"--collect"});
  EXPECT_EQ(collected.code, 3);
  EXPECT_TRUE(holds(collected.complaint(), "a.txt: the text has changed between two cells"));
  // The remedy that it names.
  folder_.write("a.txt", text);
  for (const char* arm : {"learned", "none", "alibi"}) {
    if (holds(outcome.err, std::string(arm) + "/seed-1 had")) fs::remove_all(file("a/runs/") + arm);
  }
  EXPECT_EQ(ablate("six.yaml", "a").code, 0);
}

// What results.json says to do where it is damaged.
TEST_F(GoOn, ADamagedResultIsMadeAnew) {
  ASSERT_EQ(ablate("six.yaml", "a").code, 0);
  const std::string before = results("a"), path = file("a/runs/none/seed-1/results.json");
  write_atomically(path, "{\"state\": \"fin");
  const Outcome outcome = ablate("six.yaml", "a", {"--collect"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_TRUE(holds(outcome.complaint(), "a/runs/none/seed-1/results.json: not JSON") &&
              holds(outcome.complaint(), "remove it and go on"));
  fs::remove(path);
  EXPECT_EQ(ablate("six.yaml", "a").code, 0);
  EXPECT_EQ(results("a"), before);
}

// The process of an ablation that was just killed may need a moment to save.
TEST_F(GoOn, ACellWaitsForOneThatIsJustEnding) {
  const RunDirectory run = directory("a").run({"none", 1});
  run.create_folders();
  auto lock = std::make_unique<RunLock>(run);
  std::thread ending([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    lock.reset();
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ablate("six.yaml", "a", {"--cell", "none/seed-1"}).code, 0);
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(600));
  ending.join();
}

TEST_F(GoOn, MissingSeedsAreCounted) {
  folder_.write("three.yaml", std::string(kSixCells).replace(std::string(kSixCells).find("[1, 2]"),
                                                             6, "[1, 2, 3]"));
  for (const char* cell : {"none/seed-1", "none/seed-3"})
    ASSERT_EQ(ablate("three.yaml", "a", {"--cell", cell}).code, 0);
  const Outcome collected = ablate("three.yaml", "a", {"--collect"});
  EXPECT_EQ(collected.code, 0);
  EXPECT_TRUE(holds(collected.err, "2 of 9 cells finished")) << collected.err;
  const std::string table = read_file(file("a/table.md"));
  EXPECT_TRUE(holds(table, "(2/3)") && holds(table, "0/3") &&
              holds(table, "none seed 2: not run yet"))
      << table;
  EXPECT_EQ(ablate("three.yaml", "a", {"--cell", "none/seed-4"}).code, 2);
}

}  // namespace
}  // namespace tapemeasure::testing
