// SPDX-License-Identifier: MIT
// Objectives as a user meets them: configs that contradict themselves, runs, what evaluate and
// generate say.
#include <nlohmann/json.hpp>

#include "app/experiment.h"
#include "core/error.h"
#include "core/file/atomic_file.h"
#include "tests/cli/trained_run.h"

namespace tapemeasure {
namespace {

using testing::Outcome;

class ObjectiveTest : public testing::TrainedRun {
 protected:
  /// A run of another config than the fixture's.
  void train_config(const std::string& text) {
    folder_.write("o.yaml", text);
    const Outcome trained = run({"train", "o.yaml", "--run", "r"});
    ASSERT_EQ(trained.code, 0) << trained.err;
  }
  nlohmann::json results() const {
    return nlohmann::json::parse(read_file(folder_.path("r/results.json")));
  }
  nlohmann::json evaluated(std::vector<std::string> more) const {
    std::vector<std::string> words = {"evaluate", "r", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out)["evaluations"];
  }
};

constexpr const char* kTrainer =
    "model: {layers: 1, width: 16, heads: 2, context: 16, position: {kind: t5}, kind: KIND}\n"
    "trainer: {steps: 6, batch_tokens: 64, evaluate_every: 3, save_every: 3, threads: 1}\n";

std::string config(const std::string& objective, const std::string& kind, const std::string& data) {
  std::string text = kTrainer;
  text.replace(text.find("KIND"), 4, kind);
  return (data.empty() ? "" : "data: {" + data + "}\n") +
         (objective.empty() ? "" : "objective: {" + objective + "}\n") + text;
}

TEST(ObjectiveConfig, DefaultsGoWithTheModel) {
  const auto kind = [](const std::string& model) {
    return read_experiment(Config::parse(config("", model, "text: a.txt"), "c.yaml"))
        .objective.kind;
  };
  EXPECT_EQ(kind("decoder"), "causal");
  EXPECT_EQ(kind("encoder"), "masked");
  EXPECT_EQ(kind("encoder_decoder"), "span_corruption");
  Config set = Config::parse(config("", "decoder", "text: a.txt"), "c.yaml");
  set.set("model.kind=encoder");
  EXPECT_EQ(read_experiment(set).objective.kind, "masked");
}

// What is written reads back as the same: a run's config.yaml is complete.
TEST(ObjectiveConfig, WritesAndReadsBack) {
  for (const auto& objective : objectives()) {
    const std::string name = objective.name;
    const bool pairs = name == "translation";
    const bool text = objective.make()->material() == Material::kText;
    const std::string kind = name == "masked"                       ? "encoder"
                             : name == "causal" || name == "prefix" ? "decoder"
                                                                    : "encoder_decoder";
    std::string yaml = config("kind: " + name, kind,
                              pairs  ? "source: a.txt, target: b.txt"
                              : text ? "text: a.txt"
                                     : "");
    Config read = Config::parse(yaml, "c.yaml");
    read.set("model.context=64");
    const std::string written = write_experiment(read_experiment(read));
    EXPECT_EQ(write_experiment(read_experiment(Config::parse(written, "w.yaml"))), written);
    EXPECT_NE(written.find("objective:\n  kind: " + name), std::string::npos) << written;
  }
}

TEST(ObjectiveConfig, ContradictionsAreNamedWithTheirPlace) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      read_experiment(Config::parse(text, "c.yaml"));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "nothing";
  };
  const auto expect = [&](const std::string& text, const std::vector<std::string>& parts) {
    const std::string said = message(text);
    for (const std::string& part : parts) {
      EXPECT_NE(said.find(part), std::string::npos) << part << "\n" << said;
    }
  };
  expect(config("kind: masked", "decoder", "text: a.txt"),
         {"c.yaml:2:13: ", "objective.kind masked does not go with model.kind decoder: only an"});
  expect(config("kind: copy", "encoder", ""), {"does not go with model.kind encoder"});
  expect(config("", "decoder", ""), {"data.text is missing"});
  expect(config("kind: reverse", "encoder_decoder", "text: a.txt"),
         {"c.yaml:1:8: ", "objective.kind reverse reads no data.text"});
  expect(config("kind: translation", "encoder_decoder", "source: a.txt"),
         {"c.yaml:1", "wants two files, data: {source: FILE, target: FILE}"});
  expect(config("kind: translation", "encoder_decoder", "text: a.txt"), {"reads no data.text"});
  expect(config("", "decoder", "text: a.txt, source: b.txt"),
         {"c.yaml:1:21: ", "data.source goes with objective.kind translation, not causal"});
  expect(config("kind: reverse", "decoder", ""),
         {"c.yaml:1:1: ",
          "strings of objective.lengths 16 make sequences of 33, but model.context "
          "is 16"});
  expect(config("kind: masked, mask: 0.7, random: 0.4", "encoder", "text: a.txt"),
         {"objective.mask 0.7 and objective.random 0.4"});
  expect(config("kind: masked", "encoder", "text: a.txt, order: lanes"),
         {"data.order lanes", "objective.kind causal, not masked"});
  expect(config("kind: maskd", "encoder", "text: a.txt"), {"c.yaml:2:19", "masked"});
  expect(
      config("kind: causal, share: 0.2", "decoder", "text: a.txt"),
      {"'objective.share' belongs to objective.kind masked or span_corruption, here it is causal"});
}

TEST_F(ObjectiveTest, MaskedModelsAreMeasuredAndGuess) {
  train_config(config("", "encoder", "text: a.txt, tokenizer: char"));
  EXPECT_EQ(results()["objective"], "masked");
  EXPECT_EQ(results()["validation"]["unit"], "masked token");
  EXPECT_FALSE(results()["validation"].contains("exact_match"));
  const std::string rows = read_file(folder_.path("r/metrics.jsonl"));
  EXPECT_NE(rows.find("\"objective\":\"masked\""), std::string::npos) << rows;
  const auto rows_of = evaluated({"--lengths", "16,32", "--split", "test"});
  ASSERT_EQ(rows_of.size(), 2u);
  EXPECT_EQ(rows_of[0]["tokens"], 9 * 2);  // 150 characters: 9 windows of 16, round(2.4) of each
  EXPECT_EQ(rows_of[1]["tokens"], 4 * 5);
  EXPECT_EQ(evaluated({"--lengths", "16,32", "--split", "test"}), rows_of);
  EXPECT_EQ(evaluated({"--text", "a.txt"})[0]["tokens"], 187 * 2);
  const Outcome guessed = run({"generate", "r", "--mask", "ab[MASK]d [MASK]"});
  EXPECT_EQ(guessed.code, 0) << guessed.err;
  EXPECT_EQ(std::count(guessed.out.begin(), guessed.out.end(), '\n'), 2);
  EXPECT_TRUE(guessed.out.starts_with("[MASK] 1:  '")) << guessed.out;
  expect_error({"generate", "r", "--mask", "abd"}, 2, {"there is no [MASK]"});
  expect_error({"generate", "r", "--mask", "xyz[MASK]"}, 3, {"--mask", "'x' (U+0078)"});
  expect_error({"generate", "r", "--prompt", "ab"}, 2, {"--prompt is not what", "give --mask"});
  expect_error({"generate", "r", "--prompt", "ab", "--mask", "a[MASK]"}, 2, {"excludes"});
  expect_error({"evaluate", "r", "--protocol", "nonoverlap"}, 2,
               {"--protocol", "causal", "masked"});
  expect_error({"evaluate", "r", "--lengths", "4000"}, 3, {"nothing to evaluate"});
}

TEST_F(ObjectiveTest, TasksNeedNoTextAndAnswer) {
  train_config(
      config("kind: reverse, lengths: [2, 4], evaluation_strings: 60", "encoder_decoder", ""));
  EXPECT_EQ(results()["validation"]["answers"], 60);
  EXPECT_TRUE(results()["validation"]["exact_match"].is_number());
  const auto lengths = evaluated({"--lengths", "3,9"});
  EXPECT_EQ(lengths[0]["tokens"], 60 * 4);
  EXPECT_EQ(lengths[1]["tokens"], 60 * 10);
  EXPECT_EQ(lengths[1]["length"], 9);
  // A table says what was changed for it.
  const Outcome table = run({"evaluate", "r", "--set", "trainer.micro_batch_tokens=32"});
  EXPECT_NE(table.out.find("\nwith trainer.micro_batch_tokens=32\n"), std::string::npos)
      << table.out << table.err;
  const Outcome answered = run({"generate", "r", "--source", "abc", "--tokens", "5"});
  EXPECT_EQ(answered.code, 0) << answered.err;
  EXPECT_LE(answered.out.size(), 6u);
  expect_error({"evaluate", "r", "--text", "a.txt"}, 2, {"--text", "reverse"});
  expect_error({"generate", "r", "--prompt", "abc"}, 2, {"give --source"});
  // Stopped and gone on with, it needs no text either.
  EXPECT_EQ(run({"resume", "r", "--set", "trainer.steps=9"}).code, 0);
  EXPECT_EQ(results()["steps"], 9);
  EXPECT_EQ(run({"verify", "r"}).code, 0);
  EXPECT_NE(run({"list", "r"}).out.find("finished"), std::string::npos);
  const Outcome explained = run({"explain", "o.yaml"});
  EXPECT_NE(explained.out.find("28                       objective reverse"), std::string::npos)
      << explained.out;
}

TEST_F(ObjectiveTest, TranslationsTakeTwoFiles) {
  std::string source, target;
  for (int line = 0; line < 60; ++line) {
    const std::string word(static_cast<size_t>(1 + line % 9), static_cast<char>('a' + line % 4));
    source += word + "\n";
    target += (line == 7 ? std::string(99, 'b') : word + "e") + "\n";
  }
  folder_.write("s.txt", source);
  folder_.write("t.txt", target);
  const std::string text = config("kind: translation", "encoder_decoder",
                                  "source: s.txt, target: t.txt, tokenizer: char");
  folder_.write("o.yaml", text);
  const Outcome trained = run({"train", "o.yaml", "--run", "r"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("s.txt + t.txt (train): 1 of 54 pairs do not fit model.context 16 and "
                             "are left out, the first is pair 8"),
            std::string::npos)
      << trained.err;
  EXPECT_EQ(results()["validation"]["answers"], 3);
  EXPECT_EQ(evaluated({"--split", "test"})[0]["answers"], 3);
  EXPECT_EQ(run({"generate", "r", "--source", "aaa"}).code, 0);
  EXPECT_EQ(run({"generate", "r", "--source", "aaa", "--beam", "3"}).code, 0);
  for (const char* beam : {"1", "2"}) {
    const Outcome scored = run({"evaluate", "r", "--bleu", "--beam", beam});
    EXPECT_EQ(scored.code, 0) << scored.err;
    EXPECT_NE(scored.out.find("BLEU "), std::string::npos) << scored.out;
    EXPECT_NE(scored.out.find(std::string("13a, beam ") + beam), std::string::npos) << scored.out;
  }
  folder_.write("t.txt", target + "one more\n");
  expect_error({"train", "o.yaml", "--run", "q"}, 3, {"s.txt has 60 lines, but t.txt has 61"});
  std::string other = target;
  other[0] = 'd';
  folder_.write("t.txt", other);
  expect_error({"evaluate", "r"}, 3, {"t.txt: the text is not what this run was trained on"});
}

TEST_F(ObjectiveTest, SpansAreAnswered) {
  train_config(config("", "encoder_decoder", "text: a.txt, tokenizer: byte"));
  EXPECT_EQ(results()["validation"]["unit"], "target token");
  EXPECT_EQ(run({"generate", "r", "--source", "ab<0>d"}).code, 0);
  expect_error({"evaluate", "r", "--lengths", "64"}, 2, {"sentinels"});
}

}  // namespace
}  // namespace tapemeasure
