// SPDX-License-Identifier: MIT
// Every objective trains, resumes to the bit, accumulates, and is measured the same twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "app/answer.h"
#include "app/objective_evaluation.h"
#include "core/host.h"
#include "tests/app/run_fixture.h"

namespace tapemeasure::testing {
namespace {

struct Case {
  std::string name, model, objective;
};

const std::vector<Case> kCases = {
    {"half", "decoder", "{kind: causal, score: second_half}"},
    {"prefix", "decoder", "{kind: prefix}"},
    {"masked", "encoder", "{kind: masked}"},
    {"span_corruption", "encoder_decoder", "{kind: span_corruption}"},
    {"translation", "encoder_decoder", "{kind: translation}"},
    {"copy", "decoder", "{kind: copy, lengths: [2, 4], letters: 5}"},
    {"reverse", "encoder_decoder", "{kind: reverse, lengths: [3, 7]}"},
    {"sort", "decoder", "{kind: sort, lengths: [3, 4]}"},
    {"recall", "encoder_decoder", "{kind: recall, lengths: [2, 3], distance: 1}"},
    {"addition", "encoder_decoder", "{kind: addition, lengths: [1, 3]}"}};

/// Two texts whose lines go together, beside the workspace's own.
void write_pairs(const Workspace& workspace) {
  std::string source, target;
  for (int line = 0; line < 40; ++line) {
    const std::string word(static_cast<size_t>(1 + line % 7), static_cast<char>('a' + line % 5));
    source += word + "x\n";
    target += "y" + word + "\n";
  }
  std::ofstream(workspace.path("source.txt")) << source;
  std::ofstream(workspace.path("target.txt")) << target;
}

Sets sets_of(const Workspace& workspace, const Case& which, const Sets& more = {}) {
  Sets sets = {
      "model.kind=" + which.model, "objective=" + which.objective,    "model.context=10",
      "trainer.batch_tokens=30",   "objective.evaluation_strings=30", "model.position.kind=t5"};
  const bool task = which.objective.find("lengths") != std::string::npos;
  if (!task) sets.erase(sets.begin() + 4);
  if (task || which.name == "translation") sets.push_back("data.text=[]");
  if (which.name == "translation") {
    write_pairs(workspace);
    sets.push_back("data.source=" + workspace.path("source.txt"));
    sets.push_back("data.target=" + workspace.path("target.txt"));
  }
  return with(sets, more);
}

class Objectives : public ::testing::TestWithParam<Case> {
 protected:
  const Workspace workspace_{400};
  Sets sets(const Sets& more = {}) const { return sets_of(workspace_, GetParam(), more); }
};

TEST_P(Objectives, ResumesBitwise) {
  constexpr int64_t kSteps = 8;
  for (const char* dropout : {"0", "0.1"}) {
    for (const char* micro : {"30", "10"}) {
      const Sets these = sets({std::string("model.dropout=") + dropout,
                               std::string("trainer.micro_batch_tokens=") + micro});
      Session whole(workspace_, these);
      std::vector<State> states;
      std::vector<double> losses;
      for (int64_t step = 0; step < kSteps; ++step) {
        states.push_back(whole.state());
        losses.push_back(whole.learner.step().loss);
      }
      for (const size_t stop : {0, 1, 5, 7}) {
        Session resumed(workspace_, these);
        resumed.restore(states[stop]);
        for (size_t step = stop; step < kSteps; ++step) {
          EXPECT_EQ(resumed.learner.step().loss, losses[step]) << "from " << stop;
        }
        EXPECT_TRUE(resumed.state() == whole.state()) << "from " << stop;
      }
    }
  }
}

// R6. Weighted by scored tokens: micro-batches of different numbers of targets are parts of one
// mean.
TEST_P(Objectives, AccumulationIsTheSameMean) {
  for (const char* backend : {"reference", "cpu"}) {
    const Sets these = sets({"optimizer.learning_rate=1e-3", "model.dropout=0.1",
                             std::string("trainer.backend=") + backend});
    Session one(workspace_, these);
    Session three(workspace_, with(these, {"trainer.micro_batch_tokens=10"}));
    for (int step = 0; step < 8; ++step) {
      const StepReport a = one.learner.step(), b = three.learner.step();
      EXPECT_NEAR(b.loss / a.loss, 1, 1e-6) << backend << " step " << step;
      EXPECT_NEAR(b.gradient_norm / a.gradient_norm, 1, 1e-5) << backend << " step " << step;
      EXPECT_EQ(a.scored, b.scored);
    }
  }
}

TEST_P(Objectives, LossesFall) {
  Session session(workspace_, sets({"model.dropout=0", "trainer.backend=cpu", "trainer.steps=100",
                                    "trainer.batch_tokens=200"}));
  double first = 0, last = 0;
  for (int step = 0; step < 100; ++step) {
    const double loss = session.learner.step().loss;
    if (step < 10) first += loss;
    if (step >= 90) last += loss;
  }
  EXPECT_LT(last, 0.9 * first);
}

TEST_P(Objectives, EvaluationsAreEqual) {
  if (GetParam().name == "half") return;  // measured by a protocol
  Session session(workspace_, sets());
  const auto measure = [&] {
    const auto source = evaluation_source(session.model, session.experiment,
                                          session.tokens.part(Split::kValid), std::nullopt);
    return evaluate_objective(session.model, session.experiment, *source);
  };
  const Evaluation before = measure(), again = measure();
  EXPECT_EQ(before.nats, again.nats);
  EXPECT_GT(before.tokens, 5);
  const double chance = std::log(static_cast<double>(session.model.predicted()));
  EXPECT_NEAR(before.loss(), chance, 0.4);
  for (int step = 0; step < 3; ++step) session.learner.step();  // the first has a rate of 0
  EXPECT_NE(measure().nats, before.nats);
  // Another seed trains another model on other strings, but measures the same ones.
  Session other(workspace_, sets({"trainer.seed=9"}));
  const auto source = evaluation_source(other.model, other.experiment,
                                        other.tokens.part(Split::kValid), std::nullopt);
  EXPECT_EQ(evaluate_objective(other.model, other.experiment, *source).tokens, before.tokens);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Objectives, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

// Padding is seen by nobody: a pair costs the same, whatever stands beside it in its batch.
TEST(Evaluations, DoNotDependOnTheBatch) {
  const Workspace workspace;
  for (const size_t which : {4, 6}) {  // translation, reverse
    Session session(workspace, sets_of(workspace, kCases[which], {"model.dropout=0"}));
    for (int step = 0; step < 5; ++step) session.learner.step();
    double nats[2];
    for (const int64_t tokens : {10, 400}) {
      session.experiment.trainer.micro_batch_tokens = tokens;
      const auto source = evaluation_source(session.model, session.experiment,
                                            session.tokens.part(Split::kTrain), std::nullopt);
      nats[tokens > 10] = evaluate_objective(session.model, session.experiment, *source).nats;
    }
    EXPECT_NEAR(nats[1] / nats[0], 1, 1e-6) << kCases[which].name;
  }
}

// A question's padding in a batch of training strings is seen by nobody either.
TEST(Evaluations, PaddedSourcesCostTheSame) {
  const Workspace workspace;
  Session session(workspace, sets_of(workspace, kCases[6], {"model.dropout=0"}));
  Batch batch;
  session.learner.batches().at(0, *session.model.backend, batch);
  const auto losses = [&] {
    Tape tape(false);
    tapemeasure::Run run(tape);
    const Variable hidden = session.model.network->hidden(run, input_of(batch, 0, 3));
    return to_doubles(session.model.network->loss(run, hidden, batch.targets_BT, {}).losses);
  };
  const std::vector<double> before = losses();
  const int64_t width = batch.source_BS.shape()[1];
  int changed = 0;
  for (int64_t s = 0; s < 3; ++s) {
    for (int64_t t = batch.source_lengths_B.data<int32_t>()[s]; t < width; ++t, ++changed) {
      batch.source_BS.data<int32_t>()[s * width + t] = 0;
    }
  }
  EXPECT_GT(changed, 0);
  EXPECT_EQ(losses(), before);
}

/// Batches whose answers have another last token than the right one.
class Spoilt : public FiniteSource {
 public:
  explicit Spoilt(const FiniteSource& source) : source_(source) {}
  int64_t batches() const override { return source_.batches(); }
  void at(int64_t step, Backend& backend, Batch& batch) const override {
    source_.at(step, backend, batch);
    const int64_t width = batch.targets_BT.shape()[1];
    for (int64_t s = 0; s < batch.targets_BT.shape()[0]; ++s) {
      --batch.targets_BT.data<int32_t>()[(s + 1) * width - 1];
    }
  }

 private:
  const FiniteSource& source_;
};

// One pass over the right answers decides what greedy decoding would give.
TEST(Answers, ExactMatchIsWhatGreedyDecodingGives) {
  for (const char* kind : {"decoder", "encoder_decoder"}) {
    const Workspace workspace;
    const Case which{"copy", kind, "{kind: copy, lengths: [2, 3], letters: 5}"};
    Session session(workspace, sets_of(workspace, which,
                                       {"trainer.backend=cpu", "model.dropout=0",
                                        "trainer.steps=120", "trainer.batch_tokens=160"}));
    for (int step = 0; step < 120; ++step) session.learner.step();
    const Model& model = session.model;
    const auto source = evaluation_source(model, session.experiment, {}, std::nullopt);
    const Evaluation result = evaluate_objective(model, session.experiment, *source);
    int64_t exact = 0, differ = 0;
    const auto vocabulary = static_cast<int32_t>(model.tokenizer->vocabulary());
    for (int64_t step = 0; step < source->batches(); ++step) {
      Batch batch;
      source->at(step, *model.backend, batch);
      const Tensor& questions = batch.source_BS.defined() ? batch.source_BS : batch.tokens_BT;
      for (int64_t s = 0; s < questions.shape()[0]; ++s) {
        const int32_t* row = questions.data<int32_t>() + s * questions.shape()[1];
        const std::vector<int32_t> question(
            row, std::find_if(row, row + questions.shape()[1],
                              [&](int32_t id) { return id >= vocabulary; }));
        std::vector<int32_t> said;
        answer(model, question, {.tokens = 9}, [&](int32_t token) { said.push_back(token); });
        exact += said == question;
        std::vector<int32_t> searched;
        answer(model, question, {.tokens = 9, .beam = 4},
               [&](int32_t token) { searched.push_back(token); });
        differ += searched != said;
      }
    }
    EXPECT_EQ(result.answers, 30);
    EXPECT_EQ(result.exact, exact) << kind;
    EXPECT_TRUE(differ > 0 && differ < 30) << differ << ": a beam finds other answers at times";
    EXPECT_EQ(evaluate_objective(model, session.experiment, Spoilt(*source)).exact, 0);
    EXPECT_TRUE(exact > 3 && exact < 30)
        << kind << " " << exact << ": the test is too easy or hard";
  }
}

// R140. Rows beyond the special tokens (a padded vocabulary) are never predicted.
TEST(Answers, StayWithinTheVocabulary) {
  const Workspace workspace;
  Session session(workspace, sets_of(workspace, kCases[6], {"model.vocabulary=64"}));
  EXPECT_EQ(session.model.predicted(), 27);
  answer(session.model, {0, 1, 2}, {.tokens = 9}, [](int32_t token) { EXPECT_LT(token, 26); });
  const std::string text = "ab[END]c[START]";
  const std::vector<int32_t> ids = encode_with_specials(session.model, text, "a text");
  EXPECT_EQ(ids, (std::vector<int32_t>{0, 1, 26, 2, 27}));
  std::string back;
  for (const int32_t id : ids) back += text_of(session.model, id);
  EXPECT_EQ(back, text);
}

TEST(Answers, MaskedGuessesAreProbabilities) {
  const Workspace workspace(400);
  Session session(workspace, sets_of(workspace, kCases[2]));
  const auto ids = encode_with_specials(session.model, "ba[MASK] c[MASK]", "a text");
  const auto all = fill_masks(session.model, ids, 100);
  ASSERT_EQ(all.size(), 2u);
  for (const auto& guesses : all) {
    double total = 0;
    for (size_t i = 0; i < guesses.size(); ++i) {
      total += guesses[i].probability;
      if (i > 0) {
        EXPECT_GE(guesses[i - 1].probability, guesses[i].probability);
      }
    }
    EXPECT_NEAR(total, 1, 1e-12);
    EXPECT_EQ(static_cast<int64_t>(guesses.size()), session.model.tokenizer->vocabulary());
  }
}

}  // namespace
}  // namespace tapemeasure::testing
