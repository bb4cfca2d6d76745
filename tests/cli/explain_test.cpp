// SPDX-License-Identifier: MIT
// `explain` is the manual of the config: complete, and true of what a run then does.
#include "app/explain.h"

#include <gtest/gtest.h>

#include "app/costs.h"
#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/hdf5_file.h"
#include "tests/cli/trained_run.h"

namespace tapemeasure {
namespace {

using testing::Outcome;

using ExplainTest = testing::TrainedRun;

std::vector<ConfigKey> all_keys() {
  Experiment experiment;
  return list_keys([&](Fields& f) { experiment.visit(f); });
}

// R172.
TEST_F(ExplainTest, EveryKeyHasHelpDefaultAndRangeOrChoices) {
  const std::vector<ConfigKey> keys = all_keys();
  EXPECT_GT(keys.size(), 50u);
  for (const ConfigKey& key : keys) {
    EXPECT_GE(key.help.size(), 5u) << key.key;
    EXPECT_FALSE(key.type.empty()) << key.key;
    if (key.key != "data.text") {
      EXPECT_FALSE(key.value.empty()) << key.key;
    }
    const auto is = [&](const char* type) { return key.type.find(type) != std::string::npos; };
    if ((is("integer") || is("number")) && !is("one of")) {
      EXPECT_FALSE(key.range.empty()) << key.key << " (" << key.type << ")";
    }
    EXPECT_NE(explain_key(key.key).find(key.help), std::string::npos) << key.key;
  }
}

TEST_F(ExplainTest, IsTheGoldenFile) {
  const Outcome outcome = run({"explain"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, read_file(testing::source_file("tests/cli/explain.txt")))
      << "if the change is meant: build/release/tapemeasure explain > tests/cli/explain.txt";
}

TEST_F(ExplainTest, KeysAndSections) {
  const Outcome one = run({"explain", "trainer.keep"});
  EXPECT_EQ(one.code, 0);
  EXPECT_TRUE(one.out.starts_with("trainer.keep\n")) << one.out;
  EXPECT_NE(one.out.find("default: 3"), std::string::npos) << one.out;
  const Outcome section = run({"explain", "schedule"});
  EXPECT_NE(section.out.find("schedule.warmup_steps"), std::string::npos);
  EXPECT_EQ(section.out.find("trainer.keep"), std::string::npos);
  expect_error({"explain", "trainer.kep"}, 2, {"'trainer.kep'", "did you mean 'trainer.keep'?"});
  expect_error({"explain", "no.yaml"}, 2, {"no.yaml"});
  expect_error({"explain", "trainer.keep", "--set", "trainer.keep=2"}, 2, {"--set"});
}

TEST_F(ExplainTest, ValuesHaveOrigins) {
  const Outcome outcome = run({"explain", "c.yaml", "--set", "model.layers=2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto line = [&](const std::string& key) {
    const size_t begin = outcome.out.find(key + " ");
    return outcome.out.substr(begin, outcome.out.find('\n', begin) - begin);
  };
  EXPECT_TRUE(line("model.layers").ends_with(" --set")) << line("model.layers");
  EXPECT_TRUE(line("model.width").ends_with(" c.yaml:2:20")) << line("model.width");
  EXPECT_TRUE(line("trainer.keep").ends_with(" default")) << line("trainer.keep");
  for (const char* part : {"\nparameters\n", "FLOPs per token", "memory: ", "\ncheckpoint "}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  }
}

/// Parameters and checkpoint of a run beside what was said before it.
class Foretold : public testing::TrainedRun, public ::testing::WithParamInterface<std::string> {};

TEST_P(Foretold, ParametersAndCheckpointSize) {
  train({GetParam()});
  const Experiment experiment = read_experiment(Config::read(folder_.path("r/config.yaml")));
  const Costs costs = costs_of(experiment);
  const Hdf5Reader file(folder_.path("r/best.h5"));
  int64_t parameters = 0;
  for (const ArrayInfo& info : file.list("parameters")) {
    int64_t count = 1;
    for (const int64_t size : info.shape) count *= size;
    parameters += count;
  }
  EXPECT_EQ(costs.parameters, parameters);
  int64_t parts = 0;
  for (const auto& [name, count] : costs.parts) parts += count;
  EXPECT_EQ(parts, parameters);
  const auto size = static_cast<double>(std::filesystem::file_size(folder_.path("r/best.h5")));
  EXPECT_NEAR(static_cast<double>(costs.checkpoint_bytes), size, 0.05 * size);
}

INSTANTIATE_TEST_SUITE_P(
    Experiments, Foretold,
    ::testing::Values("model.layers=4", "model.width=64", "optimizer.kind=adafactor",
                      "optimizer={kind: sgd, momentum: 0.9}", "model.tied_head=false",
                      "model={layers: 2, width: 128, position: {kind: sinusoidal}}",
                      "model={kind: encoder_decoder, layers: 2, position: t5}",
                      "model={kind: encoder, head_transform: true, layers: 3}",
                      "model={adaptive_softmax: {cutoffs: [4, 8], div_val: 2, tied: false}}",
                      "model={adaptive_softmax: {cutoffs: [4, 8], div_val: 2, tied_projections: "
                      "[false, true, true]}}",
                      "model={memory: 32, position: transformer_xl}"),
    [](const auto& info) { return std::to_string(info.index); });

// docs/objectives.md names every objective and each key of its own.
TEST(ObjectivesDocument, NamesEveryObjectiveAndKey) {
  const std::string document =
      read_file(std::string(TAPEMEASURE_SOURCE_DIR) + "/docs/objectives.md");
  const std::string prefix = "objective.";
  int keys = 0;
  for (const ConfigKey& key : all_keys()) {
    if (!key.key.starts_with(prefix)) continue;
    const std::string name = key.key.substr(prefix.size());
    EXPECT_NE(document.find(name), std::string::npos) << key.key;
    ++keys;
  }
  EXPECT_GT(keys, 15);
  for (const auto& objective : objectives()) {
    EXPECT_NE(document.find("`" + std::string(objective.name) + "`"), std::string::npos);
  }
  for (const char* config : {"masked-deberta", "span-corruption", "reverse-translation"}) {
    const std::string path = std::string(TAPEMEASURE_SOURCE_DIR) + "/configs/" + config + ".yaml";
    EXPECT_NO_THROW(read_experiment(Config::read(path))) << config;
  }
}

// docs/methods.md has a section for each method, which names each of its keys.
TEST(MethodsDocument, NamesEveryMethodAndKey) {
  const std::string document = read_file(std::string(TAPEMEASURE_SOURCE_DIR) + "/docs/methods.md");
  const auto section = [&](const std::string& method) {
    const size_t begin = document.find("\n## `" + method + "`\n");
    EXPECT_NE(begin, std::string::npos) << method;
    return begin == std::string::npos
               ? ""
               : document.substr(begin, document.find("\n## ", begin + 1) - begin);
  };
  for (const auto& method : position_methods()) {
    EXPECT_NE(section(method.name), "");
    EXPECT_NE(document.find("\n| `" + std::string(method.name) + "` | "), std::string::npos);
    const std::string config =
        std::string(TAPEMEASURE_SOURCE_DIR) + "/configs/position/" + method.name + ".yaml";
    EXPECT_EQ(read_experiment(Config::read(config)).model.position.kind, method.name);
  }
  const std::string prefix = "model.position.", kind = "position.kind: ";
  int keys = 0;
  for (const ConfigKey& key : all_keys()) {
    if (!key.key.starts_with(prefix) || !key.kind.starts_with(kind)) continue;
    const std::string name = key.key.substr(prefix.size());
    if (name == "absolute") continue;  // once for all
    const std::string method = key.kind.substr(kind.size(), key.kind.find(',') - kind.size());
    EXPECT_NE(section(method).find("`" + name + "`"), std::string::npos)
        << key.key << " " << method;
    ++keys;
  }
  EXPECT_GT(keys, 30);
}

TEST_F(ExplainTest, FloatingPointWorkByHand) {
  Experiment experiment = testing::small_experiment(
      "layers: 2, width: 8, heads: 2, feedforward: 32, context: 16, vocabulary: 10");
  // Per layer 4 x 8 x 8 and 2 x 8 x 32 weights, the head 10 x 8; 6 operations a weight. Attention:
  // two products of 8 numbers a layer with 1, 2, ... 16 keys, 8.5 on average.
  const double linears = 2 * (4 * 64 + 2 * 256) + 80;
  EXPECT_DOUBLE_EQ(costs_of(experiment).flops_per_token, 6 * (linears + 2 * 2 * 8.5 * 8));
  // Of a window of 3: 1, 2, and 14 times 3 keys.
  experiment.model.window = 3;
  EXPECT_DOUBLE_EQ(costs_of(experiment).flops_per_token,
                   6 * (linears + 2 * 2 * (1 + 2 + 14 * 3) / 16.0 * 8));
  // Behind a memory of 4 each sees 4 more, whose keys and values are made anew for every 16.
  experiment.model.window = 0;
  experiment.model.memory = 4;
  EXPECT_DOUBLE_EQ(costs_of(experiment).flops_per_token,
                   6 * (linears + 2 * 2 * 64 * 4 / 16.0 + 2 * 2 * 12.5 * 8));
}

// What tables of positions cost is not counted.
TEST_F(ExplainTest, FloatingPointWorkOfPositionsIsLeftOut) {
  const auto flops = [](const std::string& position) {
    return costs_of(testing::small_experiment("layers: 2, width: 8, heads: 2, context: 16, "
                                              "vocabulary: 10, position: " +
                                              position))
        .flops_per_token;
  };
  EXPECT_DOUBLE_EQ(flops("transformer_xl"), flops("none"));
}

TEST_F(ExplainTest, FloatingPointWorkOfAnEncoderDecoderByHand) {
  const Experiment experiment = read_experiment(Config::parse(
      "objective: reverse\nmodel: {kind: encoder_decoder, layers: 2, width: 8, heads: 2, "
      "feedforward: 32, context: 40, vocabulary: 30}\ntrainer: {batch_tokens: 40}\n",
      "c.yaml"));
  // A source's token: two encoder layers, all 40 keys. A target's: two layers with another
  // attention, whose keys and values are of the source; 20.5 keys, and 40 across; the head.
  const double encoder = 2 * (4 * 64 + 2 * 256), decoder = 2 * (8 * 64 + 2 * 256) + 30 * 8;
  EXPECT_DOUBLE_EQ(costs_of(experiment).flops_per_token,
                   6 * (encoder + decoder + 2 * 2 * 8 * (40 + 20.5 + 40)));
}

TEST_F(ExplainTest, FloatingPointWorkOfAnAdaptiveVocabularyByHand) {
  const Experiment experiment = testing::small_experiment(
      "layers: 1, width: 8, heads: 2, feedforward: 32, context: 16, vocabulary: 100, "
      "adaptive_softmax: {cutoffs: [10, 40], div_val: 2}");
  double in[3] = {}, all = 0;  // Zipf: word n comes 1/n as often as word 1
  for (int word = 1; word <= 100; ++word) {
    in[word <= 10 ? 0 : word <= 40 ? 1 : 2] += 1.0 / word;
    all += 1.0 / word;
  }
  // Widths 8, 4, 2. Every token asks the first 10 words and the 2 tails, those of a tail its words
  // as well; both through projections, and through one at the input.
  const double head = 8 * 8 + 12 * 8, tails = in[1] * (8 * 4 + 30 * 4) + in[2] * (8 * 2 + 60 * 2);
  const double input = in[0] * 8 * 8 + in[1] * 8 * 4 + in[2] * 8 * 2;
  const double expected = 6 * (4 * 64 + 2 * 256 + head + (tails + input) / all + 2 * 8.5 * 8);
  // Only the shares are approximate.
  EXPECT_NEAR(costs_of(experiment).flops_per_token, expected, 1e-5 * expected);
}

TEST_F(ExplainTest, VocabulariesAreGuessedAsWellAsCanBe) {
  const auto line = [&](const std::vector<std::string>& sets) {
    std::vector<std::string> words = {"explain", "c.yaml"};
    for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const size_t begin = outcome.out.find("model.vocabulary ");
    return outcome.out.substr(begin, outcome.out.find('\n', begin) - begin);
  };
  EXPECT_TRUE(line({"data.tokenizer=bpe"}).ends_with(" 8000                     tokenizer bpe"));
  EXPECT_TRUE(line({"data.tokenizer=unigram", "data.vocabulary=500"})
                  .ends_with(" 500                      tokenizer unigram"));
  EXPECT_NE(line({"data.tokenizer=word"}).find(" 256 "), std::string::npos);
  const std::string adaptive =
      line({"data.tokenizer=word", "model.adaptive_softmax.cutoffs=[2000, 9000]"});
  EXPECT_NE(adaptive.find(" 18000 "), std::string::npos) << adaptive;
  EXPECT_NE(adaptive.find("assumed"), std::string::npos) << adaptive;
}

}  // namespace
}  // namespace tapemeasure
