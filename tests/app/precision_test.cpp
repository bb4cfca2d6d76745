// SPDX-License-Identifier: MIT
// Runs whose products read bf16: they settle, resume and learn as others do.
#include <gtest/gtest.h>

#include "app/precision.h"
#include "core/backend.h"
#include "core/error.h"
#include "core/file/atomic_file.h"
#include "tests/app/run_fixture.h"

namespace tapemeasure::testing {
namespace {

TEST(PrecisionTest, AutoIsSettledBeforeTheConfigIsKept) {
  const Workspace workspace;
  const std::string run = workspace.path("run");
  const Outcome outcome = run_program(train_arguments(
      workspace, run, {"trainer.steps=4", "trainer.backend=cpu", "trainer.precision=auto"}));
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("trainer.precision auto is "), std::string::npos) << outcome.output;
  const std::string config = read_file(run + "/config.yaml");
  EXPECT_EQ(config.find("precision: auto"), std::string::npos);
  EXPECT_NE(config.find("precision: "), std::string::npos);
}

TEST(PrecisionTest, OnlyWhatIsOpenOrSlowIsTalkedAbout) {
  TrainerOptions trainer;
  trainer.threads = 1;
  EXPECT_EQ(settle_precision(trainer), "");
  EXPECT_EQ(trainer.precision, Precision::kF32);
  trainer.precision = Precision::kBF16;
  const std::string said = settle_precision(trainer);
  EXPECT_TRUE(said.empty() || said.find("slower") != std::string::npos) << said;
  EXPECT_EQ(trainer.precision, Precision::kBF16);
}

TEST(PrecisionTest, ABf16RunResumesToTheBit) {
  const Workspace workspace;
  const Sets bf16 = {"trainer.backend=cpu", "trainer.precision=bf16", "trainer.save_every=3",
                     "schedule.steps=6"};
  const std::string whole = workspace.path("whole"), cut = workspace.path("cut");
  ASSERT_EQ(run_program(train_arguments(workspace, whole, with(bf16, {"trainer.steps=6"}))).code,
            0);
  ASSERT_EQ(run_program(train_arguments(workspace, cut, with(bf16, {"trainer.steps=3"}))).code, 0);
  ASSERT_EQ(run_program(resume_arguments(workspace, cut, {"trainer.steps=6"})).code, 0);
  EXPECT_TRUE(last_checkpoint(RunDirectory(whole)) == last_checkpoint(RunDirectory(cut)));
}

TEST(PrecisionTest, Bf16LearnsLikeF32ButNotTheSameBits) {
  const Workspace workspace(1300);
  const auto losses = [&](const std::string& precision) {
    const Experiment experiment = workspace.experiment(
        {"trainer.steps=60", "trainer.backend=cpu", "trainer.precision=" + precision});
    const Corpus corpus = workspace.tokens(experiment);
    Model model(experiment, corpus.tokenizer);
    Learner learner(experiment, model, corpus);
    double last = 0;
    for (int i = 0; i < 60; ++i) last = learner.step().loss;
    return last;
  };
  const double f32 = losses("f32"), bf16 = losses("bf16");
  EXPECT_NE(f32, bf16);
  EXPECT_NEAR(f32, bf16, 0.01);
}

}  // namespace
}  // namespace tapemeasure::testing
