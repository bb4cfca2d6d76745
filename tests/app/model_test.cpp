// SPDX-License-Identifier: MIT
// What every model must do, whatever its positions: see no future, start at chance, and learn a
// short text by heart.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "core/host.h"
#include "core/random.h"
#include "layers/language_model.h"
#include "tests/app/run_fixture.h"

namespace tapemeasure::testing {
namespace {

namespace fs = std::filesystem;

/// A model by its `--set` keys alone; no text behind it.
struct Bare {
  explicit Bare(Config config) : experiment(read_experiment(config)) {
    if (!experiment.model.vocabulary) experiment.model.vocabulary = 100;
    model = std::make_unique<Model>(experiment, nullptr);
  }
  static Config config_of(const Sets& sets) {
    Config config = Config::parse("data: {text: none}", "test");
    config.set("trainer.threads=1");  // beside other tests, threads wait for each other
    for (const std::string& set : sets) config.set(set);
    return config;
  }
  Experiment experiment;
  std::unique_ptr<Model> model;

  Tensor random_tokens(int64_t sequences, int64_t length, uint64_t key) const {
    std::vector<int32_t> ids;
    for (uint64_t i = 0; i < static_cast<uint64_t>(sequences * length); ++i) {
      const auto vocabulary = static_cast<uint64_t>(*experiment.model.vocabulary);
      ids.push_back(static_cast<int32_t>(random_below(key, i, vocabulary)));
    }
    return to_tensor(*model->backend, {sequences, length}, ids);
  }
  std::vector<double> logits(const Tensor& tokens) const {
    Tape tape(false);
    Run run(tape);
    return to_doubles(model->network->logits(run, model->network->hidden(run, {tokens})).value());
  }
  /// Mean loss of random targets.
  double first_loss(int64_t sequences) const {
    const int64_t length = experiment.model.context;
    Tape tape(false);
    Run run(tape);
    ModelInput input{.tokens_BT = random_tokens(sequences, length, 1)};
    if (experiment.model.kind == ModelKind::kEncoderDecoder) {
      input.source_BS = random_tokens(sequences, length, 3);
    }
    const Variable hidden = model->network->hidden(run, input);
    const Tensor targets = random_tokens(sequences, length, 2);
    return model->network->loss(run, hidden, targets, {}).total /
           static_cast<double>(sequences * length);
  }
};

class Positions : public ::testing::TestWithParam<std::string> {};

// R93.
TEST_P(Positions, SeeNoFuture) {
  constexpr int64_t kLength = 40;
  for (const char* backend : {"reference", "cpu"}) {
    for (const char* window : {"0", "7"}) {
      const Bare bare(Bare::config_of(
          {"model={layers: 2, width: 32, heads: 2, context: 40, vocabulary: 50}",
           "model.position.kind=" + GetParam(), std::string("model.window=") + window,
           std::string("trainer.backend=") + backend, "trainer.batch_tokens=80"}));
      const Tensor tokens = bare.random_tokens(2, kLength, 9);
      const std::vector<double> before = bare.logits(tokens);
      for (const int64_t changed : {1, 8, 17, 32, 39}) {
        int32_t& token = tokens.data<int32_t>()[kLength + changed];
        const int32_t kept = token;
        token = (token + 1) % 50;
        const std::vector<double> after = bare.logits(tokens);
        token = kept;
        // All of the first sequence, and the second one's rows before the change.
        const size_t same = static_cast<size_t>((kLength + changed) * 50);
        EXPECT_EQ(0, std::memcmp(before.data(), after.data(), same * sizeof(double)))
            << backend << " window " << window << " token " << changed;
        EXPECT_NE(0, std::memcmp(before.data() + same, after.data() + same, 50 * sizeof(double)));
      }
    }
  }
}

// R58, R67.
TEST_P(Positions, StartAtChance) {
  for (const char* initialisation : {"scaled", "gpt2"}) {
    for (const char* tied : {"true", "false"}) {
      const Bare bare(Bare::config_of(
          {"model={layers: 4, width: 128, heads: 4, context: 64, vocabulary: 100}",
           "model.position.kind=" + GetParam(), std::string("model.tied_head=") + tied,
           std::string("model.initialisation=") + initialisation}));
      const double chance = std::log(100.0);
      EXPECT_NEAR(bare.first_loss(8), chance, 0.05 * chance) << initialisation << " tied " << tied;
    }
  }
}

TEST_P(Positions, LearnAShortTextByHeart) {
  // 65 tokens are one window of 64 and its targets.
  const Workspace workspace(65);
  Session session(
      workspace,
      {"data.split=[100, 0, 0]", "model.dropout=0",
       "model={layers: 2, width: 64, heads: 2, context: 64}", "model.position.kind=" + GetParam(),
       "trainer.backend=cpu", "trainer.batch_tokens=64", "trainer.steps=400",
       "optimizer={kind: adamw, learning_rate: 3e-3, clip_norm: 1}", "schedule.warmup_steps=20"});
  double loss = 0;
  for (int step = 0; step < 400; ++step) loss = session.learner.step().loss;
  EXPECT_LT(loss, 0.01);
}

std::vector<std::string> methods() {
  std::vector<std::string> names;
  for (const auto& kind : position_methods()) names.push_back(kind.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Methods, Positions, ::testing::ValuesIn(methods()),
                         [](const auto& info) { return info.param; });

// R58.
TEST(Presets, StartAtChance) {
  const fs::path folder = fs::path(TAPEMEASURE_SOURCE_DIR) / "configs";
  int presets = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    // Ablations are plans; their bases are the presets' own models or too large for a test.
    const bool ablation = entry.path().string().find("/ablations/") != std::string::npos;
    if (entry.path().extension() != ".yaml" || ablation) continue;
    ++presets;
    const Bare bare(Config::read(entry.path().string()));
    const double chance = std::log(static_cast<double>(*bare.experiment.model.vocabulary));
    EXPECT_NEAR(bare.first_loss(4), chance, 0.05 * chance) << entry.path();
  }
  EXPECT_GE(presets, 6);
}

}  // namespace
}  // namespace tapemeasure::testing
