// SPDX-License-Identifier: MIT
#include "tests/app/faults.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "core/file/atomic_file.h"
#include "core/file/hdf5_file.h"
#include "tests/app/run_fixture.h"

namespace tapemeasure::testing {

namespace {

const Sets kShortRun = {"trainer.steps=3", "trainer.save_every=1", "trainer.evaluate_every=2",
                        "trainer.keep=2"};

/// All files of the run but logs, locks and what depends on time.
std::map<std::string, std::string> essence(const RunDirectory& run) {
  std::map<std::string, std::string> files = files_below(run.path());
  for (const char* name : {"log.txt", "lock", "metrics.jsonl", "metrics.superseded.jsonl"}) {
    files.erase(name);
  }
  std::erase_if(files, [](const auto& file) { return file.first.starts_with("tensorboard/"); });
  return files;
}

std::vector<std::string> names_of(const std::map<std::string, std::string>& files) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : files) names.push_back(name);
  return names;
}

void check_the_dead(const FaultPlan& plan, const RunDirectory& run, const Outcome& outcome) {
  const bool kill = plan.action == "before" || plan.action == "half" || plan.action == "after";
  if (kill) {
    EXPECT_EQ(outcome.code, -SIGKILL) << outcome.output;
  } else {
    EXPECT_EQ(outcome.code, 4) << outcome.output;
    EXPECT_NE(outcome.output.find("tapemeasure: "), std::string::npos);
    for (const auto& [name, bytes] : files_below(run.path())) {
      EXPECT_FALSE(name.ends_with(".tmp")) << name;
    }
  }
  for (const int64_t step : run.checkpoints()) Hdf5Reader(run.checkpoint(step)).verify();
}

}  // namespace

void expect_survival(const FaultPlan& plan) {
  const Workspace workspace;
  const RunDirectory whole(workspace.path("whole"));
  ASSERT_EQ(run_program(train_arguments(workspace, whole.path(), kShortRun)).code, 0);
  const auto expected = essence(whole);
  ASSERT_EQ(expected.size(), 5u);  // config, results, best and two checkpoints
  int met = 0;
  for (int at = plan.first;; at += plan.stride, ++met) {
    SCOPED_TRACE(plan.action + " at call " + std::to_string(at));
    const RunDirectory run(workspace.path("run" + std::to_string(at)));
    const Outcome outcome =
        run_program(train_arguments(workspace, run.path(), kShortRun), fault(at, plan.action));
    if (outcome.code == 0) break;
    check_the_dead(plan, run, outcome);
    const Outcome again =
        run_program(run.exists() ? resume_arguments(workspace, run.path())
                                 : train_arguments(workspace, run.path(), kShortRun));
    EXPECT_EQ(again.code, 0) << again.output;
    const auto found = essence(run);
    EXPECT_EQ(names_of(found), names_of(expected));
    for (const auto& [name, bytes] : expected) {
      EXPECT_TRUE(found.contains(name) && found.at(name) == bytes) << name;
    }
    EXPECT_EQ(metrics(run), metrics(whole));
    std::filesystem::remove_all(run.path());
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GE(met * plan.stride, 30);
}

}  // namespace tapemeasure::testing
