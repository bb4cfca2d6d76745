// SPDX-License-Identifier: MIT
// Mistakes in configs and --set: one line, exit code 2, before any data is read.
#include <gtest/gtest.h>

#include "core/file/atomic_file.h"
#include "tests/cli/trained_run.h"

namespace tapemeasure {
namespace {

using testing::Outcome;

class ConfigMistakes : public testing::TrainedRun {
 protected:
  /// What `explain` says of a key after --set.
  std::string value_of(const std::string& key, const std::string& value) {
    const Outcome outcome = run({"explain", "c.yaml", "--set", key + "=" + value});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const size_t line = outcome.out.find(key + " ");
    if (line == std::string::npos) return "";
    const size_t begin = outcome.out.find_first_not_of(' ', line + key.size());
    return outcome.out.substr(begin, outcome.out.find(' ', begin) - begin);
  }
};

// R146.
TEST_F(ConfigMistakes, ValuesAreReadAsPeopleWriteThem) {
  EXPECT_EQ(value_of("optimizer.learning_rate", "1"), "1");
  EXPECT_EQ(value_of("optimizer.learning_rate", "1e-5"), "1.0e-05");
  EXPECT_EQ(value_of("optimizer.learning_rate", ".1"), "0.1");
  EXPECT_EQ(value_of("data.text", "a=b"), "[\"a=b\"]");
  EXPECT_EQ(value_of("model.gated", "yes"), "true");
  EXPECT_EQ(value_of("trainer.steps", "1e4"), "10000");
  EXPECT_EQ(value_of("trainer.steps", "0x10"), "16");
}

// The text is missing throughout: that a mistake is told shows that it is found first.
TEST_F(ConfigMistakes, AreFoundBeforeDataIsRead) {
  std::filesystem::remove(text_);
  expect_error({"train", "c.yaml"}, 3, {"a.txt", "No such file"});
  const std::vector<std::pair<std::string, std::vector<std::string>>> mistakes = {
      {"trainer.steps=1.5", {"trainer.steps", "integer", "1.5"}},
      {"trainer.steps=nan", {"trainer.steps", "integer", "nan"}},
      {"trainer.steps=", {"trainer.steps", "integer"}},
      {"trainer.steps=0", {"trainer.steps", "range", "1 ..."}},
      {"trainer.steps=many", {"trainer.steps", "integer", "many"}},
      {"optimizer.learning_rate=nan", {"optimizer.learning_rate", "number", "nan"}},
      {"optimizer.learning_rate=.nan", {"optimizer.learning_rate", "number"}},
      {"optimizer.learning_rate=inf", {"optimizer.learning_rate", "number"}},
      {"optimizer.learning_rate=0x10", {"optimizer.learning_rate", "number", "0x10"}},
      {"model.gated=perhaps", {"model.gated", "true", "perhaps"}},
      {"trainer.stepz=3", {"unknown key 'trainer.stepz'", "did you mean 'trainer.steps'?"}},
      {"steps=3", {"unknown key 'steps'"}},
      {"model.position.kind=lerned", {"model.position.kind", "did you mean 'learned'?"}},
      {"data.tokenizer=wort", {"data.tokenizer", "byte, char, word, bpe, unigram", "wort"}},
      {"data.vocabulary=300", {"tokenizer char has the vocabulary that it has"}},
      {"data.vocabulary=1", {"data.vocabulary", "range", "2 ..."}},
      {"data.min_frequency=2", {"goes with tokenizer word, not char"}},
      {"trainer=3", {"'trainer' wants a section"}},
      {"data.split=[90, 10]", {"data.split", "three numbers"}},
      {"data.split=[0, 50, 50]", {"data.split", "nothing to train on"}},
      {"model.heads=3", {"model.heads 3", "model.width 16"}},
      {"trainer.batch_tokens=65", {"trainer.batch_tokens 65", "model.context 16", "64 or 80"}},
      {"trainer.micro_batch_tokens=80", {"trainer.micro_batch_tokens 80", "64"}},
      {"trainer.precision=f64", {"f64", "reference"}},
      {"trainer={precision: bf16, backend: reference}", {"bf16", "cpu", "not reference"}},
      {"nothing", {"KEY=VALUE"}},
      {"=3", {"key is empty"}},
  };
  for (const auto& [set, wanted] : mistakes) {
    std::vector<std::string> all = wanted;
    all.push_back("--set " + set);
    for (const char* verb : {"train", "explain"}) {
      expect_error({verb, "c.yaml", "--set", set}, 2, all);
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.path("runs")));
}

TEST_F(ConfigMistakes, InFilesAreNamedWithLineAndColumn) {
  std::filesystem::remove(text_);
  const std::vector<std::pair<std::string, std::vector<std::string>>> files = {
      {"data: {text: a.txt}\nmodel:\n  layer: 3\n",
       {"w.yaml:3:3: ", "unknown key 'model.layer'", "did you mean 'model.layers'?"}},
      {"data: {text: a.txt}\nmodel:\n  layers: 3\n  layers: 4\n", {"w.yaml:4:3: ", "layers"}},
      {"data: {text: a.txt}\ntrainer: {steps: 1.5}\n", {"w.yaml:2:", "integer", "1.5"}},
      {"data: {text: a.txt}\ntrainer: {steps: [1}\n", {"w.yaml:"}},
      {"data:\n  text: a.txt\n  valid: v.txt\n  split: [90, 5, 5]\n",
       {"w.yaml:4:", "5 for valid", "make its share 0"}},
      {"data:\n  text: a.h5\n  test: t.txt\n", {"w.yaml:3:", "data.test", "a.h5", "own splits"}},
      {"model: {layers: 1}\n", {"w.yaml", "data.text is missing"}},
      {"", {"w.yaml"}},
      {"- a list\n", {"w.yaml:1:1"}},
      {"data: {text: a.txt}\nextends: other.yaml\n", {"other.yaml", "No such file"}},
  };
  for (const auto& [text, wanted] : files) {
    folder_.write("w.yaml", text);
    expect_error({"train", "w.yaml"}, 2, wanted);
  }
  expect_error({"train", "no.yaml"}, 2, {"no.yaml", "No such file"});
  expect_error({"train", "."}, 2, {"a folder"});
}

// R147: what is kept with a run is a config that means the same.
TEST_F(ConfigMistakes, TheConfigOfARunReadsBackToItself) {
  train({"model.dropout=0.1", "optimizer.learning_rate=.003", "schedule.kind=wsd"});
  const std::string kept = read_file(folder_.path("r/config.yaml"));
  const Experiment experiment = read_experiment(Config::read(folder_.path("r/config.yaml")));
  EXPECT_EQ(write_experiment(experiment), kept);
  const Outcome again = run({"train", "r/config.yaml", "--run", "again"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(read_file(folder_.path("again/config.yaml")), kept);
  EXPECT_EQ(read_file(folder_.path("again/best.h5")), read_file(folder_.path("r/best.h5")));
}

}  // namespace
}  // namespace tapemeasure
