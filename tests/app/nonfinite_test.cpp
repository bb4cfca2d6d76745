// SPDX-License-Identifier: MIT
// Losses and gradients that are not finite: the run stops and says where, or skips, within a limit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/hdf5_file.h"
#include "tests/app/run_fixture.h"

namespace tapemeasure::testing {
namespace {

const Sets kDiverges = {"optimizer={kind: sgd, learning_rate: 1000, momentum: 0.9}",
                        "model.embedding_scale=1e6",
                        "schedule={kind: constant}",
                        "model.dropout=0",
                        "trainer.steps=200",
                        "trainer.save_every=1"};

// R97.
TEST(NonFinite, StopsWithExitCode5AndKeepsTheLastCheckpoint) {
  for (const char* backend : {"reference", "cpu"}) {
    const Workspace workspace;
    const RunDirectory run(workspace.path("run"));
    const Sets sets = with(kDiverges, {std::string("trainer.backend=") + backend});
    const Outcome outcome = run_program(train_arguments(workspace, run.path(), sets));
    EXPECT_EQ(outcome.code, 5) << outcome.output;
    EXPECT_NE(outcome.output.find("is not finite"), std::string::npos);
    EXPECT_NE(outcome.output.find("the last checkpoint is kept"), std::string::npos);
    EXPECT_NE(read_file(run.file("log.txt")).find("is not finite"), std::string::npos);
    for (const int64_t step : run.checkpoints()) {
      const Hdf5Reader file(run.checkpoint(step));
      for (const ArrayInfo& info : file.list("parameters")) {
        for (const double value : file.reals(info.name)) {
          ASSERT_TRUE(std::isfinite(value)) << "step " << step << " " << info.name;
        }
      }
    }
  }
}

/// Makes one weight infinite.
void spoil(Model& model, const std::string& name) {
  model.store.find(name)->value.data<float>()[0] = std::numeric_limits<float>::infinity();
}

TEST(NonFinite, NamesTheLoss) {
  const Workspace workspace;
  Session session(workspace, {});
  spoil(session.model, "embedding.weight");
  EXPECT_EQ(session.learner.step().nonfinite, "the loss");
}

// A step that is skipped moves the data on, not the weights, the statistics or their count.
TEST(NonFinite, ASkippedStepMovesOnlyTheData) {
  const Workspace workspace;
  Session session(workspace, {});
  session.learner.step();
  const State before = session.state();
  float& weight =
      session.model.store.find("blocks.0.feedforward.up.weight")->value.data<float>()[3];
  const float kept = weight;
  weight = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(session.learner.step().nonfinite, "");
  weight = kept;
  EXPECT_EQ(session.learner.steps_done(), 2);
  EXPECT_EQ(session.learner.optimizer().updates(), 1);
  Session other(workspace, {});
  other.restore(before);
  // Only the step counter differs: the next batch is that of step 2.
  Batch here, there;
  session.learner.batches().at(session.learner.steps_done(), *session.model.backend, here);
  other.learner.batches().at(2, *other.model.backend, there);
  EXPECT_TRUE(std::equal(here.tokens_BT.data<int32_t>(), here.tokens_BT.data<int32_t>() + 24,
                         there.tokens_BT.data<int32_t>()));
  for (const Parameter& parameter : session.model.store.all()) {
    const Parameter& same = *other.model.store.find(parameter.name);
    EXPECT_EQ(0, std::memcmp(parameter.value.raw(), same.value.raw(), parameter.value.bytes()));
  }
}

TEST(NonFinite, NamesTheFirstParameterWhoseGradientIsNot) {
  const Workspace workspace;
  Session session(workspace, {});
  session.learner.step();
  const std::string name = "blocks.1.attention.output.weight";
  session.model.store.find(name)->gradient.data<float>()[1] = std::nanf("");
  EXPECT_TRUE(std::isnan(session.learner.optimizer().gradient_norm()));
  EXPECT_EQ(session.learner.optimizer().first_nonfinite(), name);
}

// R97: skipping goes on, counts, and has an end: weights that are not finite do not heal.
TEST(NonFinite, SkipsUpToTheLimit) {
  const Workspace workspace;
  const RunDirectory run(workspace.path("run"));
  const Experiment experiment =
      workspace.experiment({"trainer.on_nonfinite=skip", "trainer.nonfinite_limit=4"});
  const Corpus tokens = workspace.tokens(experiment);
  run.create();
  const CapturedErrors errors;
  Log log;
  Trainer trainer(experiment, tokens, run, log);
  spoil(trainer.model(), "embedding.weight");
  try {
    trainer.train();
    ADD_FAILURE() << "it went on";
  } catch (const NonFiniteError& error) {
    EXPECT_NE(std::string(error.what()).find("step 4: the loss is not finite, as were the 3"),
              std::string::npos)
        << error.what();
  }
  const auto rows = metrics(run);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(nlohmann::json::parse(rows[2])["loss"].is_null());
  EXPECT_TRUE(run.checkpoints().empty());
}

// The update itself can overflow: such weights must not become the last checkpoint.
TEST(NonFinite, WeightsThatAreNotFiniteAreNotSaved) {
  const Workspace workspace;
  const RunDirectory run(workspace.path("run"));
  const Experiment experiment = workspace.experiment({});
  const Corpus tokens = workspace.tokens(experiment);
  run.create();
  const CapturedErrors errors;
  Log log;
  Trainer trainer(experiment, tokens, run, log);
  spoil(trainer.model(), "blocks.0.feedforward.down.weight");
  try {
    trainer.save_now();
    ADD_FAILURE() << "it was saved";
  } catch (const NonFiniteError& error) {
    EXPECT_NE(std::string(error.what()).find("blocks.0.feedforward.down.weight"),
              std::string::npos);
  }
  EXPECT_TRUE(run.checkpoints().empty());
}

}  // namespace
}  // namespace tapemeasure::testing
