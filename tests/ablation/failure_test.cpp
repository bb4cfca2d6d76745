// SPDX-License-Identifier: MIT
// Cells that fail, and cells that start from others.
#include <signal.h>

#include "app/saved_model.h"
#include "core/host.h"
#include "tests/ablation/ablation_fixture.h"

namespace tapemeasure::testing {
namespace {

using Failures = Ablation;
namespace fs = std::filesystem;

constexpr const char* kTwoFail =
    "base: base.yaml\n"
    "seeds: [1]\n"
    "arms:\n"
    "  learned: {}\n"
    "  wild: {set: [optimizer.kind=sgd, optimizer.learning_rate=1000, optimizer.clip_norm=0]}\n"
    "  none: {set: [model.position.kind=none]}\n"
    "  short: {set: [data.text=short.txt, model.context=64, trainer.batch_tokens=64]}\n"
    "  alibi: {set: [model.position.kind=alibi]}\n"
    "  rope: {set: [model.position.kind=rope]}\n"
    "measures:\n"
    "  at16: {length: 16, arms: [learned, wild, none, alibi, rope]}\n"
    "  short16: {length: 16, arms: [short]}\n";

// R149: one bad setting took a whole sweep down.
TEST_F(Failures, OthersAreFinishedAndTheTableSaysWhatFailed) {
  folder_.write("short.txt", "only this");
  folder_.write("two.yaml", kTwoFail);
  const Outcome outcome = ablate("two.yaml", "a");
  EXPECT_EQ(outcome.code, 5) << outcome.err;  // that of the first in the file's order
  EXPECT_TRUE(holds(outcome.err, "4 of 6 cells finished, 2 failed")) << outcome.err;
  EXPECT_TRUE(holds(outcome.err, "failed: wild/seed-1: ") &&
              holds(outcome.err, "failed: short/seed-1: "))
      << outcome.err;
  const auto wild = directory("a").failure({"wild", 1}),
             small = directory("a").failure({"short", 1});
  ASSERT_TRUE(wild && small);
  EXPECT_EQ(wild->code, 5);
  EXPECT_EQ(small->code, 3);
  const std::string table = read_file(file("a/table.md"));
  EXPECT_TRUE(holds(table, "wild seed 1: step ") && holds(table, "not finite") &&
              holds(table, "short seed 1: " + small->reason))
      << table;
  EXPECT_EQ(ablate("two.yaml", "a", {"--collect"}).code, 5);

  // What failed is tried again, what is finished is not.
  folder_.write("short.txt", read_file(file("a.txt")));
  const auto none = times("a/runs/none");
  EXPECT_EQ(ablate("two.yaml", "a").code, 5);
  EXPECT_FALSE(directory("a").failure({"short", 1}));
  EXPECT_EQ(times("a/runs/none"), none);
}

TEST_F(Failures, FailFastStopsAtTheFirst) {
  folder_.write("two.yaml", kTwoFail);
  const Outcome outcome = ablate("two.yaml", "a", {"--fail-fast", "--jobs", "1"});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_TRUE(holds(outcome.err, "1 of 6 cells finished, 1 failed")) << outcome.err;
  EXPECT_FALSE(fs::exists(file("a/runs/none")));
}

TEST_F(Failures, FailFastLetsOthersSave) {
  folder_.write("slow.yaml",
                "base: base.yaml\nseeds: [1]\narms:\n  slow: {set: [trainer.steps=1000000]}\n"
                "  wild: {set: [optimizer.kind=sgd, optimizer.learning_rate=1000, "
                "optimizer.clip_norm=0, trainer.steps=2000]}\nmeasures: {at16: {length: 16}}\n");
  const Outcome outcome = ablate("slow.yaml", "a", {"--fail-fast", "--jobs", "2"});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_FALSE(directory("a").failure({"slow", 1}));
  EXPECT_TRUE(holds(outcome.err, "slow/seed-1 stopped at step ")) << outcome.err;
}

// As the kernel does when memory runs out.
TEST_F(Failures, AKilledCellIsAFailure) {
  folder_.write("slow.yaml",
                "base: base.yaml\nseeds: [1]\narms:\n  none: {}\n"
                "  slow: {set: [trainer.steps=1000000]}\nmeasures: {at16: {length: 16}}\n");
  const pid_t parent = start("slow.yaml", "a");
  pid_t process = 0;
  ASSERT_TRUE(comes_true([&] {
    process = holder_of(file("a/runs/slow/seed-1/lock"));
    return process > 1 && directory("a").trained({"none", 1});
  }));
  ASSERT_GT(process, 1);
  kill(process, SIGKILL);
  EXPECT_EQ(wait_for(parent), 128 + SIGKILL);
  const auto failure = directory("a").failure({"slow", 1});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->reason, "killed by signal 9");
  EXPECT_TRUE(holds(read_file(file("a/table.md")), "slow seed 1: killed by signal 9"));
}

// -- Arms that start from others.

constexpr const char* kChain =
    "base: base.yaml\n"
    "seeds: [1, 2]\n"
    "arms:\n"
    "  tuned: {init_from: first, set: [trainer.steps=5, trainer.keep=9]}\n"
    "  first: {set: [trainer.steps=30]}\n"
    "measures: {at16: {length: 16}}\n";

std::vector<double> weights(const std::string& checkpoint) {
  const SavedModel saved = load_model(checkpoint, {});
  std::vector<double> all;
  for (const Parameter& parameter : saved.model->store.all()) {
    const std::vector<double> values = to_doubles(parameter.value);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST_F(Failures, ArmsStartFromTheEndOfOthersWithTheSameSeed) {
  folder_.write("chain.yaml", kChain);
  const Outcome outcome = ablate("chain.yaml", "a", {"--jobs", "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto begin = [&](int64_t seed) {
    return weights(directory("a").run({"tuned", seed}).checkpoint(0));
  };
  EXPECT_EQ(begin(1), weights(directory("a").run({"first", 1}).checkpoint(30)));
  EXPECT_EQ(begin(2), weights(directory("a").run({"first", 2}).checkpoint(30)));
  EXPECT_NE(begin(1), begin(2));
  // The same arm from elsewhere is another one.
  std::string changed = kChain;
  changed.erase(changed.find("init_from: first, "), 18);
  folder_.write("chain.yaml", changed);
  const Outcome refused = ablate("chain.yaml", "a");
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(holds(refused.complaint(), "init_from")) << refused.err;
}

TEST_F(Failures, ARunKilledBeforeItsConfigBeginsAnew) {
  folder_.write("chain.yaml", kChain);
  ASSERT_EQ(ablate("chain.yaml", "a", {"--cell", "first/seed-1"}).code, 0);
  const RunDirectory run = directory("a").run({"tuned", 1});
  run.create_folders();
  fs::copy(directory("a").run({"first", 1}).checkpoint(10), run.checkpoint(0));
  ASSERT_EQ(ablate("chain.yaml", "a", {"--cell", "tuned/seed-1"}).code, 0);
  EXPECT_EQ(weights(run.checkpoint(0)), weights(directory("a").run({"first", 1}).checkpoint(30)));
}

TEST_F(Failures, WhoStartsFromAFailureFails) {
  std::string plan = kChain;
  plan.replace(plan.find("trainer.steps=30"), 16,
               "optimizer.kind=sgd, optimizer.learning_rate=1000, optimizer.clip_norm=0");
  folder_.write("chain.yaml", plan);
  const Outcome outcome = ablate("chain.yaml", "a");
  EXPECT_EQ(outcome.code, 5) << outcome.err;
  const auto failure = directory("a").failure({"tuned", 2});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->reason, "needs first/seed-2, which failed");
  EXPECT_EQ(ablate("chain.yaml", "b", {"--cell", "tuned/seed-2"}).code, 4);
  EXPECT_EQ(directory("b").failure({"tuned", 2})->reason,
            "needs first/seed-2, which is not trained yet");
}

}  // namespace
}  // namespace tapemeasure::testing
