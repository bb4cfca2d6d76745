// SPDX-License-Identifier: MIT
// trainer.recompute trades time for memory and changes nothing else, to the bit: for every method,
// kind of model, memory and dropout.
#include <gtest/gtest.h>

#include "tests/app/run_fixture.h"

namespace tapemeasure::testing {
namespace {

State after_steps(const Workspace& workspace, const Sets& sets, int steps) {
  Session session(workspace, sets);
  for (int step = 0; step < steps; ++step) session.learner.step();
  return session.state();
}

class Recompute : public ::testing::TestWithParam<Sets> {};

TEST_P(Recompute, ChangesNoBit) {
  const Workspace workspace;
  for (const char* backend : {"reference", "cpu"}) {
    const Sets sets = with({"model.dropout=0.2", "trainer.micro_batch_tokens=8",
                            std::string("trainer.backend=") + backend},
                           GetParam());
    const State kept = after_steps(workspace, sets, 3);
    EXPECT_TRUE(after_steps(workspace, with(sets, {"trainer.recompute=true"}), 3) == kept)
        << backend;
  }
}

std::vector<Sets> settings() {
  std::vector<Sets> all;
  for (const auto& method : position_methods()) {
    all.push_back({std::string("model.position.kind=") + method.name});
  }
  all.push_back({"model.position.kind=transformer_xl", "model.memory=8"});
  all.push_back({"model.kind=encoder", "objective.kind=masked", "model.position.kind=deberta",
                 "model.enhanced_mask_decoder=true", "model.norm_position=post"});
  all.push_back({"model.kind=encoder_decoder", "model.position.kind=t5", "model.context=16",
                 "trainer.batch_tokens=48", "trainer.micro_batch_tokens=16"});
  all.push_back({"model.norm_position=post", "model.gated=true"});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Settings, Recompute, ::testing::ValuesIn(settings()));

// A block keeps a dozen tensors of its input's size, and more with a wide feed-forward; recomputed,
// only that input.
TEST(Recompute, KeepsLess) {
  const Workspace workspace(2000);
  const Sets sets = {"model.layers=8", "model.width=32", "model.context=32", "model.position=none",
                     "trainer.batch_tokens=512"};
  size_t peaks[2];
  for (const bool recompute : {false, true}) {
    Session session(workspace, with(sets, {std::string("trainer.recompute=") +
                                           (recompute ? "true" : "false")}));
    session.learner.step();
    session.model.backend->reset_peak();
    session.learner.step();
    peaks[recompute] = session.model.backend->peak_bytes();
  }
  EXPECT_LT(2 * peaks[1], peaks[0]);
}

}  // namespace
}  // namespace tapemeasure::testing
