// SPDX-License-Identifier: MIT
// A learner that is stopped, written, read back and continued is the learner that never stopped, to
// the bit: every backend, update rule, dropout, accumulation and place in an epoch.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "core/file/atomic_file.h"
#include "tests/app/run_fixture.h"

namespace tapemeasure::testing {
namespace {

constexpr int64_t kSteps = 12;
constexpr int64_t kEpoch = 4;  // steps

struct Case {
  std::string backend, rule;
  std::string dropout;
  int64_t accumulation;
  Sets sets() const {
    return {"trainer.backend=" + backend, "model.dropout=" + dropout, "optimizer.kind=" + rule,
            "trainer.micro_batch_tokens=" + std::to_string(24 / accumulation)};
  }
};

/// What a step's row is made of, as bits.
std::string bits(const StepReport& report) {
  const double values[] = {report.loss, report.gradient_norm, report.learning_rate, report.epoch};
  return std::string(reinterpret_cast<const char*>(values), sizeof values);
}

std::vector<std::string> steps_until(Learner& learner, int64_t end) {
  std::vector<std::string> rows;
  while (learner.steps_done() < end) rows.push_back(bits(learner.step()));
  return rows;
}

/// The windows of a learner of causal batches.
const Batcher& batcher(const Session& session) {
  return dynamic_cast<const Batcher&>(session.learner.batches());
}

class Resume : public ::testing::TestWithParam<Case> {};

// R1, R2, R6, R9, R16, R17, R24, R25: save points in the middle, at the last and the first step of
// an epoch, at the run's first and last step.
TEST_P(Resume, ContinuesBitwise) {
  const Workspace workspace;
  Sets sets = GetParam().sets();
  if (GetParam().rule == "sgd") sets = with(sets, {"optimizer.momentum=0.9"});
  Session whole(workspace, sets);
  ASSERT_EQ(batcher(whole).windows(), 12);
  std::vector<std::string> rows;
  std::map<int64_t, State> saved;
  while (whole.learner.steps_done() < kSteps) {
    saved[whole.learner.steps_done()] = whole.state();
    rows.push_back(bits(whole.learner.step()));
  }
  const State end = whole.state();
  saved[kSteps] = end;
  for (const int64_t stop :
       {int64_t{0}, int64_t{1}, kEpoch, kEpoch + 1, kEpoch + 2, 2 * kEpoch, kSteps - 1, kSteps}) {
    Session resumed(workspace, sets);
    resumed.restore(saved[stop]);
    EXPECT_EQ(resumed.learner.steps_done(), stop);
    EXPECT_EQ(steps_until(resumed.learner, kSteps),
              std::vector<std::string>(rows.begin() + stop, rows.end()))
        << "from step " << stop;
    EXPECT_TRUE(resumed.state() == end) << "from step " << stop;
    EXPECT_EQ(resumed.learner.optimizer().updates(), kSteps);
  }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const char* backend : {"reference", "cpu"}) {
    for (const char* rule : {"adamw", "sgd", "adafactor"}) {
      for (const char* dropout : {"0", "0.1"}) {
        for (const int64_t accumulation : {1, 3})
          list.push_back({backend, rule, dropout, accumulation});
      }
    }
  }
  return list;
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return info.param.backend + "_" + info.param.rule + "_dropout" +
         (info.param.dropout == "0" ? "0" : "01") + "_accumulation" +
         std::to_string(info.param.accumulation);
}

INSTANTIATE_TEST_SUITE_P(Runs, Resume, ::testing::ValuesIn(cases()), case_name);

// R110: micro-batches split what is in memory, not what is learned.
TEST(Accumulation, LossesDifferByRoundingOnly) {
  const Workspace workspace;
  for (const char* backend : {"reference", "cpu"}) {
    for (const char* dropout : {"0", "0.1"}) {
      const Sets sets = {"optimizer.learning_rate=1e-3", std::string("trainer.backend=") + backend,
                         std::string("model.dropout=") + dropout};
      Session one(workspace, sets);
      Session three(workspace, with(sets, {"trainer.micro_batch_tokens=8"}));
      Session uneven(workspace, with(sets, {"trainer.micro_batch_tokens=16"}));
      for (int step = 0; step < kSteps; ++step) {
        const double loss = one.learner.step().loss;
        EXPECT_NEAR(three.learner.step().loss / loss, 1, 1e-6) << backend << " step " << step;
        EXPECT_NEAR(uneven.learner.step().loss / loss, 1, 1e-6) << backend << " step " << step;
      }
    }
  }
}

// R6: another accumulation on resume is another split of the same batches.
TEST(Accumulation, MayChangeOnResume) {
  const Workspace workspace;
  const Sets sets = {"optimizer.learning_rate=1e-3"};
  Session one(workspace, sets), three(workspace, with(sets, {"trainer.micro_batch_tokens=8"}));
  steps_until(one.learner, 5);
  three.restore(one.state());
  for (int step = 5; step < kSteps; ++step) {
    EXPECT_NEAR(three.learner.step().loss / one.learner.step().loss, 1, 1e-6);
  }
}

/// The tokens of a step, from a learner that stands there.
std::vector<int32_t> batch_of(Session& session) {
  Batch batch;
  session.learner.batches().at(session.learner.steps_done(), *session.model.backend, batch);
  const int32_t* tokens = batch.tokens_BT.data<int32_t>();
  return {tokens, tokens + batch.tokens_BT.count()};
}

// R1: batches after a resume are those that come next, none twice and none left out.
TEST(Batches, NeitherRepeatNorVanish) {
  const Workspace workspace(500);
  const Sets sets = {"trainer.batch_tokens=40"};
  Session whole(workspace, sets);
  std::vector<std::vector<int32_t>> batches;
  std::map<int64_t, State> saved;
  for (int step = 0; step < 40; ++step) {
    if (step % 10 == 0) saved[step] = whole.state();
    batches.push_back(batch_of(whole));
    whole.learner.step();
  }
  for (const auto& [first, state] : saved) {
    Session resumed(workspace, sets);
    resumed.restore(state);
    for (int64_t step = first; step < 40; ++step) {
      EXPECT_EQ(batch_of(resumed), batches[static_cast<size_t>(step)]) << first << ", " << step;
      resumed.learner.step();
    }
  }
}

// R4, R5: after a stop at 90 % of an epoch the epochs that follow are whole. Epochs of 48 windows
// and batches of 5: they straddle.
TEST(Batches, EpochsAreWholeAfterAResume) {
  const Workspace workspace(490);
  const Sets sets = {"trainer.batch_tokens=40"};
  Session before(workspace, sets);
  const int64_t windows = batcher(before).windows(), sequences = 5;
  ASSERT_EQ(windows, 48);
  steps_until(before.learner, windows * 9 / 10 / sequences);
  Session after(workspace, sets);
  after.restore(before.state());
  std::map<int64_t, std::set<int64_t>> seen;
  const auto note = [&](const Batcher& batcher, int64_t step) {
    for (int64_t s = 0; s < sequences; ++s) {
      const bool fresh =
          seen[(step * sequences + s) / windows].insert(batcher.window_start(step, s)).second;
      EXPECT_TRUE(fresh) << "step " << step << " repeats a window of its epoch";
    }
  };
  for (int64_t step = 0; step < before.learner.steps_done(); ++step) {
    note(batcher(before), step);
  }
  for (int64_t step = after.learner.steps_done(); step * sequences < 4 * windows; ++step) {
    note(batcher(after), step);
  }
  for (int64_t epoch = 0; epoch < 4; ++epoch) EXPECT_EQ(seen[epoch].size(), size_t(windows));
}

// R13: one clock; epoch and rate follow from it.
TEST(Batches, EpochFollowsFromTheStep) {
  const Workspace workspace;
  Session session(workspace, {});
  steps_until(session.learner, 6);
  Session resumed(workspace, {});
  resumed.restore(session.state());
  EXPECT_EQ(resumed.learner.step().epoch, 1.5);
}

}  // namespace
}  // namespace tapemeasure::testing
