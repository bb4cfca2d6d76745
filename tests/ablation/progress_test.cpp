// SPDX-License-Identifier: MIT
// How far cells are, and what an ablation would do.
#include "app/ablation/cell_progress.h"
#include "app/ablation/child_process.h"
#include "core/error.h"
#include "tests/ablation/ablation_fixture.h"

namespace tapemeasure::testing {
namespace {

using Progress = Ablation;

TEST_F(Progress, IsReadOffTheEndOfTheMetrics) {
  const RunDirectory run(file("r"));
  EXPECT_EQ(progress_of(run).step, 0);
  run.create_folders();
  std::string rows;
  for (int step = 1; step <= 500; ++step) {
    rows += fmt::format(
        "{{\"step\": {}, \"loss\": {}.5, \"learning_rate\": 1, \"tokens_per_second\": 100}}\n",
        step, step);
  }
  folder_.write("r/metrics.jsonl", rows + "{\"step\": 500, \"validation_loss\": 2}\n{\"step\": 5");
  const RunProgress progress = progress_of(run);
  EXPECT_EQ(progress.step, 500);
  EXPECT_EQ(progress.loss, 500.5);
  EXPECT_EQ(progress.tokens_per_second, 100);
  folder_.write("r/metrics.jsonl",
                "{\"step\": 1, \"loss\": 1, \"tokens_per_second\": 100}\n"
                "{\"step\": 2, \"loss\": null, \"tokens_per_second\": 300}\n");
  EXPECT_EQ(progress_of(run).step, 2);
  EXPECT_EQ(progress_of(run).tokens_per_second, 200);
  for (const char* text : {"", "\n", "\n\n", "rubbish\n", "[1]\n{}\n", "{\"step\": 1"}) {
    folder_.write("r/metrics.jsonl", text);
    EXPECT_EQ(progress_of(run).step, 0) << text;
  }
}

TEST_F(Progress, Lines) {
  EXPECT_EQ(progress_line("k2/seed-1", {}, 200), "k2/seed-1  starting");
  EXPECT_EQ(progress_line("k2/seed-1", {40, 2.1, 5120}, 200),
            "k2/seed-1  step 40/200  loss 2.1000  5120 tokens/s");
  EXPECT_EQ(progress_line("k2/seed-1", {200, 2.1, 5120}, 200),
            "k2/seed-1  step 200/200  loss 2.1000  measuring");
}

TEST_F(Progress, APlanSaysWhatWouldBeDoneAndDoesNothing) {
  const Outcome before = ablate("six.yaml", "a", {"--plan", "--jobs", "2"});
  EXPECT_EQ(before.code, 0) << before.err;
  for (const char* part :
       {"Six cells", "3 arms, seeds 1, 2: 6 cells in a, 0 finished, 0 failed",
        "none                 model.position.kind=none", "learned              the base",
        "at16                 bits per character, test part, length 16",
        "360 steps and 46080 tokens in total, 360 and 46080 of them left", "for 2 at once",
        "no run is finished"}) {
    EXPECT_TRUE(holds(before.out, part)) << part << "\n" << before.out;
  }
  EXPECT_FALSE(std::filesystem::exists(file("a")));
  ASSERT_EQ(ablate("six.yaml", "a", {"--cell", "none/seed-1"}).code, 0);
  const Outcome after = ablate("six.yaml", "a", {"--plan"});
  for (const char* part : {"1 finished", "300 and 38400 of them left", "training takes about "})
    EXPECT_TRUE(holds(after.out, part)) << part << "\n" << after.out;
}

TEST_F(Progress, ProcessesEndAsTheyDo) {
  const CommandResult said = run_command({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(said.code, 3);
  EXPECT_EQ(said.output, "out\nerr\n");
  EXPECT_EQ(run_command({"no-such-program-anywhere"}).code, 127);
  EXPECT_EQ(run_command({"sh", "-c", "kill -9 $$"}).code, 128 + 9);
  EXPECT_THROW(start_process({"true"}, "/dev/null/x"), CheckpointError);
}

TEST_F(Progress, ASlurmThatIsNotThereIsOneLine) {
  std::filesystem::create_directory(file("empty"));
  const std::string path = getenv("PATH");
  setenv("PATH", file("empty").c_str(), 1);
  const Outcome outcome = ablate("six.yaml", "a", {"--launcher", "slurm"});
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(holds(outcome.complaint(), "there is no sbatch here"));
  const Outcome fast = ablate("six.yaml", "a", {"--launcher", "slurm", "--fail-fast"});
  EXPECT_EQ(fast.code, 2);
  EXPECT_TRUE(holds(fast.complaint(), "--fail-fast goes with --launcher local"));
}

}  // namespace
}  // namespace tapemeasure::testing
