// SPDX-License-Identifier: MIT
// What measures read off a trained model, against evaluations done one by one.
#include "app/ablation/measuring.h"

#include "app/part_evaluation.h"
#include "core/error.h"
#include "tests/ablation/ablation_fixture.h"

namespace tapemeasure::testing {
namespace {

class Measuring : public Ablation {
 protected:
  Measuring() {
    std::string base = kBaseConfig;
    base.replace(base.find("a.txt"), 5, file("a.txt"));  // it is read from another folder here
    folder_.write("base.yaml", base);
  }
  /// Trains the base config in "r" with these over it.
  void train(const std::vector<std::string>& sets = {}) {
    std::vector<std::string> words = {"train", "base.yaml",
                                      "--run", "r",
                                      "--set", "trainer.backend=reference",
                                      "--set", "trainer.precision=f64",
                                      "--set", "trainer.steps=5"};
    for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
    const Outcome outcome = run(words);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    saved_ = load_model(file("r"), {});
    corpus_.emplace(training_corpus(saved_, file("cache")));
  }
  Measured measured(const Measure& measure, bool on_valid = false) const {
    return measure_model(saved_, *corpus_, measure, on_valid);
  }

  SavedModel saved_;
  std::optional<Corpus> corpus_;
};

Measure a_measure(Quantity quantity, std::optional<int64_t> length = {}) {
  Measure measure;
  measure.name = "m";
  measure.quantity = quantity;
  measure.length = length;
  return measure;
}

TEST_F(Measuring, ValuesAreThoseOfTheEvaluation) {
  ASSERT_NO_FATAL_FAILURE(train());
  const EvaluationText test = evaluation_part(*corpus_, Split::kTest).text;
  const EvaluationText valid = evaluation_part(*corpus_, Split::kValid).text;
  const Evaluation at8 = evaluate_text(saved_, test, {8});
  EXPECT_EQ(measured(a_measure(Quantity::kBitsPerCharacter, 8)).value, at8.bits_per_character());
  EXPECT_EQ(measured(a_measure(Quantity::kBitsPerByte, 8)).value, at8.bits_per_byte());
  EXPECT_EQ(measured(a_measure(Quantity::kBitsPerToken, 8)).value, at8.bits_per_token());
  EXPECT_EQ(measured(a_measure(Quantity::kLoss, 8)).value, at8.loss());
  EXPECT_EQ(measured(a_measure(Quantity::kPerplexity, 8)).value, at8.perplexity());
  EXPECT_EQ(measured(a_measure(Quantity::kWordPerplexity, 8)).value, at8.word_perplexity());
  const Measured trained = measured(a_measure(Quantity::kLoss), true);
  EXPECT_EQ(trained.value, evaluate_text(saved_, test, {16}).loss());
  EXPECT_EQ(trained.on_valid, evaluate_text(saved_, valid, {16}).loss());
  EXPECT_EQ(trained.protocol, "nonoverlap 16");
  EXPECT_EQ(trained.tokens, test.tokens.size() - 1);
  Measure sliding = a_measure(Quantity::kLoss, 8);
  sliding.protocol = "sliding:stride=2";
  sliding.split = Split::kValid;
  const Measured slid = measured(sliding, true);
  EXPECT_EQ(slid.value, evaluate_text(saved_, valid, {8, 2}).loss());
  EXPECT_EQ(slid.on_valid, slid.value);
  EXPECT_EQ(slid.protocol, "sliding:stride=2 8");
  EXPECT_FALSE(measured(a_measure(Quantity::kLoss)).on_valid);
}

TEST_F(Measuring, QuantitiesThatDoNotGoWithTheModelAreRefused) {
  ASSERT_NO_FATAL_FAILURE(train());
  EXPECT_THROW(measured(a_measure(Quantity::kExactMatch)), ConfigError);
}

TEST_F(Measuring, AnswersAreCounted) {
  folder_.write("base.yaml",
                "objective: {kind: reverse, lengths: [1, 4]}\n"
                "model: {layers: 1, width: 16, heads: 2, context: 16}\n"
                "trainer: {steps: 5, batch_tokens: 128, threads: 1}\n");
  ASSERT_NO_FATAL_FAILURE(train());
  const Measured match = measured(a_measure(Quantity::kExactMatch, 2));
  const Evaluation direct =
      evaluate_strings(saved_, evaluation_part(*corpus_, Split::kTest).part, 2);
  EXPECT_EQ(match.value, direct.exact_match());
  EXPECT_EQ(match.protocol, "");
  EXPECT_THROW(measured(a_measure(Quantity::kBitsPerCharacter)), ConfigError);
  Measure context = a_measure(Quantity::kEffectiveContext);
  context.lengths = {2};
  EXPECT_THROW(measured(context), ConfigError);
  const Measured speed = measured(a_measure(Quantity::kTokensPerSecond));
  EXPECT_GT(speed.value, 0);
}

// An effective context is worked out from losses: without them all it is measured again.
TEST_F(Measuring, LossesThatAreNotAllThereAreNoMeasurement) {
  const AblationDirectory directory(folder_.path("d"));
  const Cell cell{"a", 1};
  Measure context = a_measure(Quantity::kEffectiveContext);
  context.name = "c";
  context.lengths = {2, 4};
  Measured whole;
  whole.tokens = 2;
  whole.losses = {{2, {1.0, 2.0}}, {4, {0.5, 1.0}}};
  directory.keep(cell, context, whole);
  EXPECT_TRUE(directory.measured(cell, context));
  for (const std::map<int64_t, std::vector<double>>& losses :
       {std::map<int64_t, std::vector<double>>{},
        {{2, {1.0, 2.0}}},
        {{2, {1.0, 2.0}}, {4, {0.5}}}}) {
    whole.losses = losses;
    directory.keep(cell, context, whole);
    EXPECT_FALSE(directory.measured(cell, context));
  }
}

TEST_F(Measuring, SpeedIsOfSoManyTargets) {
  ASSERT_NO_FATAL_FAILURE(train());
  Measure speed = a_measure(Quantity::kTokensPerSecond, 16);
  speed.targets = 50;
  const Measured some = measured(speed);
  EXPECT_EQ(some.tokens, 50);
  EXPECT_GT(some.value, 0);
  speed.targets = 0;
  const int64_t all = evaluation_part(*corpus_, Split::kTest).text.tokens.size() - 1;
  EXPECT_EQ(measured(speed).tokens, all);
  speed.targets = all + 5;
  EXPECT_EQ(measured(speed).tokens, all);
}

// Dai et al. 2019, section 4.3: the same targets behind contexts of every length.
TEST_F(Measuring, ContextsAreExact) {
  ASSERT_NO_FATAL_FAILURE(train({"model.memory=4", "model.position.kind=transformer_xl"}));
  Measure context = a_measure(Quantity::kEffectiveContext);
  context.lengths = {1, 3, 8};
  context.targets = 5;
  const Measured found = measured(context);
  EXPECT_EQ(found.tokens, 5);
  const TokenSpan tokens = evaluation_part(*corpus_, Split::kTest).text.tokens;
  for (const int64_t length : context.lengths) {
    ASSERT_EQ(found.losses.at(length).size(), 5u);
    for (int64_t i = 0; i < 5; ++i) {
      // The window of `length` tokens before target 8 + i, alone.
      std::vector<uint32_t> ids;
      for (int64_t t = 8 + i - length; t <= 8 + i; ++t)
        ids.push_back(static_cast<uint32_t>(tokens[t]));
      EvaluationText window;
      window.tokens = TokenSpan(ids.data(), 4, length + 1, saved_.model->tokenizer->vocabulary());
      double last = 0;
      evaluate_text(saved_, window, {length}, [&](double loss, int64_t) { last = loss; });
      EXPECT_NEAR(found.losses.at(length)[static_cast<size_t>(i)], last, 1e-12);
    }
  }
  context.targets = 0;
  EXPECT_EQ(measured(context).tokens, tokens.size() - 8);
  context.lengths = {tokens.size()};
  EXPECT_THROW(measured(context), DataError);
}

TEST_F(Measuring, WhatIsNotFiniteIsAnError) {
  ASSERT_NO_FATAL_FAILURE(train());
  for (const Parameter& parameter : saved_.model->store.all())
    *parameter.value.data<double>() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(measured(a_measure(Quantity::kLoss)), NonFiniteError);
  Measure context = a_measure(Quantity::kEffectiveContext);
  context.lengths = {2};
  EXPECT_THROW(measured(context), NonFiniteError);
}

// Through the program: a member of a best_of is measured on the validation part, others are not.
TEST_F(Measuring, MembersOfABestOfAreMeasuredOnTheValidationPartToo) {
  folder_.write("best.yaml",
                "base: base.yaml\nseeds: [1]\narms: {rope: {set: [model.position.kind=rope]}}\n"
                "measures:\n"
                "  near: {length: 32}\n"
                "  far: {length: 32, set: [model.position.theta=100]}\n"
                "  best: {best_of: [near, far], length: 32}\n"
                "  alone: {length: 8}\n");
  const Outcome outcome = ablate("best.yaml", "a");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Plan plan = Plan::read(file("best.yaml"));
  const auto of = [&](const char* name) {
    return directory("a").measured({"rope", 1}, plan.measure(name));
  };
  ASSERT_TRUE(of("near") && of("far") && of("alone"));
  EXPECT_TRUE(of("near")->on_valid && of("far")->on_valid);
  EXPECT_FALSE(of("alone")->on_valid || of("best"));
  EXPECT_NE(of("near")->value, of("far")->value);
}

}  // namespace
}  // namespace tapemeasure::testing
