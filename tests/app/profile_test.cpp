// SPDX-License-Identifier: MIT
// The profile of a step: a whole trace of it, and a run that it does not change.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "app/step_profile.h"
#include "core/error.h"
#include "core/file/atomic_file.h"
#include "tests/app/run_fixture.h"

namespace tapemeasure::testing {
namespace {

struct Profiled {
  explicit Profiled(const Sets& sets) {
    const std::string plain = workspace.path("plain"), run = workspace.path("run");
    const std::string file = workspace.path("step.json");
    EXPECT_EQ(run_program(train_arguments(workspace, plain, sets)).code, 0);
    auto arguments = train_arguments(workspace, run, sets);
    arguments.insert(arguments.end(), {"--profile", file});
    const Outcome outcome = run_program(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    said = outcome.output;
    EXPECT_EQ(last_checkpoint(RunDirectory(run)), last_checkpoint(RunDirectory(plain)));
    events = nlohmann::json::parse(read_file(file)).at("traceEvents");
  }
  std::vector<nlohmann::json> named(const std::string& name) const {
    std::vector<nlohmann::json> found;
    for (const auto& event : events) {
      if (event.at("name") == name) found.push_back(event);
    }
    return found;
  }

  Workspace workspace;
  std::string said;
  nlohmann::json events;
};

TEST(Profile, IsOneStepWithAllItsKernels) {
  const Profiled step({"trainer.steps=5", "model.layers=3", "trainer.micro_batch_tokens=8"});
  EXPECT_NE(step.said.find("step 3 is in "), std::string::npos) << step.said;
  EXPECT_NE(step.said.find("  gemm "), std::string::npos) << step.said;
  // Three micro-batches of three blocks.
  EXPECT_EQ(step.named("batch").size(), 1u);
  EXPECT_EQ(step.named("forward").size(), 3u);
  EXPECT_EQ(step.named("backward").size(), 3u);
  EXPECT_EQ(step.named("block").size(), 9u);
  EXPECT_EQ(step.named("attention_grad").size(), 9u);
  EXPECT_EQ(step.named("update").size(), 1u);
  EXPECT_GE(step.named("adamw").size(), 1u);
  for (const auto& gemm : step.named("gemm")) {
    EXPECT_TRUE(gemm.at("args").at("sizes").is_string());
    EXPECT_GT(gemm.at("args").at("GFLOP/s").get<double>(), 0);
  }
}

// What lies inside an interval lies inside it whole: that is how viewers stack them.
TEST(Profile, IntervalsNest) {
  const Profiled step({"trainer.steps=3"});
  std::vector<std::pair<double, double>> spans;
  for (const auto& event : step.events) {
    const double begin = event.at("ts").get<double>();
    spans.emplace_back(begin, begin + event.at("dur").get<double>());
  }
  for (const auto& [begin, end] : spans) {
    for (const auto& [other_begin, other_end] : spans) {
      const bool apart = end <= other_begin || other_end <= begin;
      const bool inside =
          (begin <= other_begin && other_end <= end) || (other_begin <= begin && end <= other_end);
      EXPECT_TRUE(apart || inside)
          << begin << " " << end << ", " << other_begin << " " << other_end;
    }
  }
}

TEST(Profile, AShortRunShowsItsLastStepAndRecomputedBlocksTwice) {
  const Profiled step(
      {"trainer.steps=2", "schedule.warmup_steps=0", "model.layers=2", "trainer.recompute=true"});
  EXPECT_NE(step.said.find("step 2 is in "), std::string::npos) << step.said;
  EXPECT_EQ(step.named("gradient of recomputed").size(), 2u);
  EXPECT_EQ(step.named("attention").size(), 4u);
}

TEST(Profile, AFileThatCannotBeWrittenIsSaidInOneLine) {
  const Workspace workspace;
  auto arguments = train_arguments(workspace, workspace.path("run"), {"trainer.steps=3"});
  arguments.insert(arguments.end(), {"--profile", workspace.path("no/step.json")});
  const Outcome outcome = run_program(arguments);
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.output.find("step.json"), std::string::npos) << outcome.output;
}

const Product kProduct = {.M = 200, .N = 30, .K = 4};  // 48000 operations
const std::vector<Trace::Interval> kIntervals = {
    {.name = "gemm", .detail = {}, .product = kProduct, .begin = 100, .duration = 600},
    {.name = "norm", .detail = {}, .product = {}, .begin = 700, .duration = 200},
    {.name = "block", .detail = "3", .product = {}, .begin = 100, .duration = 900},
    {.name = "gemm", .detail = {}, .product = kProduct, .begin = 1000, .duration = 400},
    {.name = "fill", .detail = {}, .product = {}, .begin = 1500, .duration = 5},
    {.name = "scale", .detail = {}, .product = {}, .begin = 1510, .duration = 5},
    {.name = "update", .detail = {}, .product = {}, .begin = 1500, .duration = 500}};

TEST(Profile, ContainersAreNoKernels) {
  EXPECT_EQ(heaviest_kernels(kIntervals),
            (std::vector<std::string>{"gemm 50.0 %, 2 calls, 1.0 ms, 0 GFLOP/s",
                                      "norm 10.0 %, 1 call, 0.2 ms",
                                      "all others 0.5 %, 2 calls, 0.0 ms"}));
}

TEST(Profile, EventsHaveTheirSizesAndRates) {
  const auto json = nlohmann::json::parse(chrome_trace(kIntervals));
  EXPECT_EQ(json.at("traceEvents").size(), 7u);
  EXPECT_EQ(json["traceEvents"][0]["args"]["sizes"], "200 x 30 x 4");
  EXPECT_DOUBLE_EQ(json["traceEvents"][0]["args"]["GFLOP/s"], 0.08);
  EXPECT_FALSE(json["traceEvents"][1].contains("args"));
  EXPECT_EQ(json["traceEvents"][2]["args"]["sizes"], "3");
}

}  // namespace
}  // namespace tapemeasure::testing
