// SPDX-License-Identifier: MIT
// The verb `evaluate`: tables, JSON, losses per token, and whose vocabulary it is.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "core/file/atomic_file.h"
#include "core/file/hdf5_file.h"
#include "tests/cli/trained_run.h"

namespace tapemeasure {
namespace {

using testing::letters;
using testing::Outcome;

class EvaluateTest : public testing::TrainedRun {
 protected:
  nlohmann::json json(std::vector<std::string> more) {
    std::vector<std::string> words = {"evaluate", "r", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(outcome.err.empty()) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  }
};

TEST_F(EvaluateTest, IsWhatTrainingMeasured) {
  train();
  const nlohmann::json result = json({});
  const auto kept = nlohmann::json::parse(read_file(folder_.path("r/results.json")));
  EXPECT_EQ(result["step"], kept["best"]["step"]);
  EXPECT_EQ(result["evaluations"][0]["loss"], kept["best"]["validation_loss"]);
  EXPECT_EQ(result["text"], "a.txt (valid)");
  EXPECT_EQ(json({}), result);  // R57
}

TEST_F(EvaluateTest, PartsAndTexts) {
  train();
  folder_.write("b.txt", corpus_.substr(2700, 150));
  const nlohmann::json valid = json({}), own = json({"--text", "b.txt"});
  EXPECT_EQ(own["evaluations"], valid["evaluations"]);
  EXPECT_EQ(own["text"], "b.txt");
  EXPECT_NE(json({"--split", "test"})["evaluations"], valid["evaluations"]);
  ASSERT_EQ(run({"prepare", "a.txt", "--out", "a.h5", "--tokenizer", "char"}).code, 0);
  EXPECT_EQ(json({"--text", "a.h5"})["evaluations"], valid["evaluations"]);
  EXPECT_EQ(json({"--text", "a.h5", "--split", "test"})["evaluations"],
            json({"--split", "test"})["evaluations"]);
  expect_error({"evaluate", "r", "--text", "b.txt", "--split", "test"}, 2, {"--split", "b.txt"});
}

// R44, R51.
TEST_F(EvaluateTest, LengthsMakeATable) {
  train({"model.position.kind=sinusoidal"});
  const nlohmann::json result =
      json({"--lengths", "8,16,64", "--protocol", "sliding:stride=8"})["evaluations"];
  ASSERT_EQ(result.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(result[i]["length"], std::vector<int>({8, 16, 64})[i]);
    EXPECT_EQ(result[i]["protocol"], "sliding:stride=8");
    EXPECT_EQ(result[i]["tokens"], 149);
  }
  const Outcome table = run({"evaluate", "r", "--lengths", "8,16,64"});
  EXPECT_EQ(table.code, 0);
  // Seven lines, and below them a line for each of four ranges of positions.
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 7 + 3 + 3) << table.out;
  EXPECT_NE(table.out.find("\nlength                           8                  16"),
            std::string::npos)
      << table.out;
  EXPECT_NE(table.out.find("\n32-63                            -                   - "),
            std::string::npos)
      << table.out;
  ASSERT_EQ(result[2]["positions"].size(), 3u);
  EXPECT_EQ(result[2]["positions"][2]["first"], 32);
  EXPECT_EQ(result[2]["positions"][2]["last"], 63);
  int64_t tokens = 0;
  for (const nlohmann::json& at : result[2]["positions"]) tokens += at["tokens"].get<int64_t>();
  EXPECT_EQ(tokens, 149);
  EXPECT_NE(table.out.find("over 149 tokens, 149 characters, 149 bytes, "), std::string::npos);
  expect_error({"evaluate", "r", "--lengths", "0"}, 2, {"--lengths", "0"});
  expect_error({"evaluate", "r", "--protocol", "sliding:stride=17"}, 2, {"stride", "16"});
  expect_error({"evaluate", "r", "--protocol", "slide"}, 2, {"nonoverlap", "slide"});
}

// What training measures behind its memory is what evaluate measures unless told otherwise.
TEST_F(EvaluateTest, ModelsWithMemoryRemember) {
  train({"model.position.kind=transformer_xl", "model.memory=24"});
  const auto kept = nlohmann::json::parse(read_file(folder_.path("r/results.json")));
  EXPECT_EQ(kept["validation"]["protocol"], "memory:24");
  EXPECT_EQ(json({})["evaluations"][0]["loss"], kept["best"]["validation_loss"]);
  EXPECT_EQ(json({"--protocol", "memory:24"}), json({}));
  const nlohmann::json lengths =
      json({"--lengths", "8,32", "--protocol", "memory:40"})["evaluations"];
  EXPECT_EQ(lengths[1]["protocol"], "memory:40");
  EXPECT_EQ(lengths[1]["length"], 32);
  EXPECT_EQ(lengths[0]["tokens"], 149);
  // A longer memory takes the place of the trained one.
  EXPECT_EQ(json({"--set", "model.memory=40"})["evaluations"][0]["protocol"], "memory:40");
  EXPECT_EQ(json({"--protocol", "nonoverlap"})["evaluations"][0]["protocol"], "nonoverlap");
}

TEST_F(EvaluateTest, AbsolutePositionsRefuseMemory) {
  train();
  expect_error({"evaluate", "r", "--protocol", "memory:16"}, 2,
               {"memory:16", "model.position.kind learned", "number every segment from 0 again"});
}

// No scaling of rotary frequencies has parameters: a trained model takes any.
TEST_F(EvaluateTest, RotaryScalingsAreSetAtEvaluation) {
  train({"model.position.kind=rope"});
  const nlohmann::json plain = json({"--lengths", "16,64"});
  for (const char* kind : {"linear", "ntk", "dynamic_ntk", "yarn", "llama3"}) {
    const std::string scaling = std::string("model.position.scaling.kind=") + kind,
                      factor = "model.position.scaling.factor=4";
    const nlohmann::json scaled = json({"--lengths", "16,64", "--set", scaling, "--set", factor});
    EXPECT_EQ(scaled["set"], (std::vector<std::string>{scaling, factor}));
    EXPECT_NE(scaled["evaluations"][1]["loss"], plain["evaluations"][1]["loss"]) << kind;
    // Up to the trained length a dynamic one changes nothing.
    EXPECT_EQ(scaled["evaluations"][0]["loss"] == plain["evaluations"][0]["loss"],
              std::string(kind) == "dynamic_ntk");
  }
  EXPECT_EQ(json({"--lengths", "16,64"}), plain);
}

// R89.
TEST_F(EvaluateTest, LengthsBeyondALearnedTableAreRefused) {
  train();
  expect_error({"evaluate", "r", "--lengths", "17"}, 2, {"length 17", "16 positions"});
}

TEST_F(EvaluateTest, LossesPerToken) {
  train();
  const nlohmann::json result =
      json({"--per-token", "t.h5", "--protocol", "sliding:stride=5"})["evaluations"][0];
  const Hdf5Reader file(folder_.path("t.h5"));
  const std::vector<double> losses = file.reals("losses");
  const std::vector<int64_t> before = file.integers("before"), targets = file.integers("targets");
  ASSERT_EQ(losses.size(), 149u);
  ASSERT_EQ(before.size(), 149u);
  ASSERT_EQ(targets.size(), 149u);
  EXPECT_DOUBLE_EQ(std::accumulate(losses.begin(), losses.end(), 0.0), result["nats"]);
  for (size_t t = 0; t < 16; ++t) EXPECT_EQ(before[t], int64_t(t) + 1);
  for (size_t t = 16; t < 146; ++t) EXPECT_EQ(before[t], int64_t(12 + (t - 16) % 5)) << t;
  EXPECT_EQ(nlohmann::json::parse(file.text("evaluation")), result);
  expect_error({"evaluate", "r", "--per-token", "t.h5", "--lengths", "8,16"}, 2, {"--per-token"});
  expect_error({"evaluate", "r", "--per-token", "no/t.h5"}, 4, {"no/t.h5"});
}

TEST_F(EvaluateTest, ChangedKeysAreRecorded) {
  train();
  const nlohmann::json result = json({"--set", "model.window=4"});
  EXPECT_EQ(result["set"], std::vector<std::string>{"model.window=4"});
  EXPECT_NE(result["evaluations"], json({})["evaluations"]);
  const Outcome table = run({"evaluate", "r", "--set", "model.window=4"});
  EXPECT_NE(table.out.find("\nwith model.window=4\n"), std::string::npos) << table.out;
  expect_error({"evaluate", "r", "--set", "model.width=32"}, 2,
               {"--set model.width=32 changes parameters", "[10, 32]", "[10, 16]"});
  expect_error({"evaluate", "r", "--set", "model.windows=4"}, 2, {"did you mean 'model.window'"});
}

// R52, R135: never another vocabulary than the checkpoint's.
TEST_F(EvaluateTest, OtherVocabulariesAreRefusedWithBothHashes) {
  train();
  const std::string model = make_tokenizer("char", corpus_, "a")->hash(),
                    byte = make_tokenizer("byte", corpus_, "a")->hash();
  expect_error({"evaluate", "r", "--set", "data.tokenizer=byte"}, 3, {model, byte});
  ASSERT_EQ(run({"prepare", "a.txt", "--out", "a.h5"}).code, 0);
  expect_error({"evaluate", "r", "--text", "a.h5"}, 3, {"a.h5", model, byte});
  folder_.write("b.txt", "abc\nabz");
  expect_error({"evaluate", "r", "--text", "b.txt"}, 3, {"b.txt: byte 6 (line 2)", "'z'"});
  folder_.write("a.txt", corpus_ + "a");
  expect_error({"evaluate", "r"}, 3, {"a.txt", "3000 bytes", "3001 bytes"});
}

TEST_F(EvaluateTest, TextsOfOneTokenAndNone) {
  train();
  folder_.write("one.txt", "a");
  folder_.write("none.txt", "");
  folder_.write("two.txt", "ab");
  expect_error({"evaluate", "r", "--text", "one.txt"}, 3, {"one.txt: 1 tokens", "at least 2"});
  expect_error({"evaluate", "r", "--text", "none.txt"}, 3, {"none.txt: 0 tokens"});
  expect_error({"evaluate", "r", "--text", "missing.txt"}, 3, {"missing.txt", "No such file"});
  EXPECT_EQ(json({"--text", "two.txt"})["evaluations"][0]["tokens"], 1);
  // No word was scored: no number, rather than a wrong one.
  folder_.write("space.txt", "a ");
  EXPECT_TRUE(json({"--text", "space.txt"})["evaluations"][0]["bits_per_word"].is_null());
}

}  // namespace
}  // namespace tapemeasure
