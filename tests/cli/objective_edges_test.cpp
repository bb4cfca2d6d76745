// SPDX-License-Identifier: MIT
// Where objectives end: lengths that nothing can hold, files that nobody reads, parts too small to
// measure, and documents that no token closes.
#include <filesystem>

#include "tests/cli/trained_run.h"

namespace tapemeasure {
namespace {

using testing::Outcome;

constexpr const char* kModel =
    "model: {layers: 1, width: 8, heads: 2, context: 16, position: none, kind: KIND}\n"
    "trainer: {steps: 2, batch_tokens: 32, evaluate_every: 1, save_every: 2, threads: 1}\n";

class ObjectiveEdges : public testing::TrainedRun {
 protected:
  void write_config(const std::string& kind, const std::string& head) {
    std::string text = kModel;
    text.replace(text.find("KIND"), 4, kind);
    folder_.write("c.yaml", head + text);
  }
};

constexpr const char* kReverse = "objective: {kind: reverse, lengths: [2, 4]}\n";
constexpr const char* kPairs = "data: {source: s.txt, target: t.txt, split: [50, 50, 0]}\n";

// Products of such lengths overflow, or take the machine's memory.
TEST_F(ObjectiveEdges, LengthsHaveAnEnd) {
  write_config("decoder", kReverse);
  train();
  for (const char* length : {"9223372036854775807", "4611686018427387904", "16777217"}) {
    expect_error({"evaluate", "r", "--lengths", length}, 2,
                 {"--lengths wants numbers from 1 to 16777216", length});
  }
  expect_error({"evaluate", "r", "--lengths", "65537"}, 2, {"65537", "lengths of 1 to 65536"});
}

TEST_F(ObjectiveEdges, FilesThatNobodyReadsAreRefused) {
  write_config("decoder", std::string("data: {valid: a.txt}\n") + kReverse);
  expect_error({"train", "c.yaml"}, 2,
               {"c.yaml:1:8: ", "objective.kind reverse reads no data.valid: leave it out"});
  write_config("encoder_decoder",
               "data: {source: s.txt, target: t.txt, test: a.txt}\nobjective: translation\n");
  expect_error({"train", "c.yaml"}, 2, {"c.yaml:1:", "translation reads no data.test"});
}

TEST_F(ObjectiveEdges, SmoothingAndAdaptiveSoftmaxContradictBeforeARunIsMade) {
  write_config("encoder_decoder", std::string(kPairs) + "objective: translation\n");
  expect_error({"train", "c.yaml", "--run", "r", "--set", "model.adaptive_softmax.cutoffs=[5]"}, 2,
               {"model.adaptive_softmax.cutoffs=[5]: objective.smoothing 0.1", "set it to 0"});
  EXPECT_FALSE(std::filesystem::exists(folder_.path("r")));
}

TEST_F(ObjectiveEdges, APartTooSmallToMeasureIsNamed) {
  folder_.write("v.txt", "abc");
  write_config("encoder", "data: {text: a.txt, valid: v.txt}\n");
  const Outcome trained = run({"train", "c.yaml", "--run", "r"});
  EXPECT_EQ(trained.code, 0) << trained.err;
  const std::string warning = "(valid): too little to validate on";
  const size_t first = trained.err.find(warning);
  EXPECT_NE(first, std::string::npos) << trained.err;
  EXPECT_EQ(trained.err.find(warning, first + 1), std::string::npos) << "said twice";
  // Who asks for no validation is told nothing.
  write_config("encoder", "data: {text: a.txt, split: [100, 0, 0]}\n");
  EXPECT_EQ(run({"train", "c.yaml", "--run", "q"}).err.find(warning), std::string::npos);
}

TEST_F(ObjectiveEdges, NoPairsAreNotPairsTooLong) {
  folder_.write("s.txt", "a\n");
  folder_.write("t.txt", "b\n");
  write_config("encoder_decoder", std::string(kPairs) + "objective: translation\n");
  expect_error({"train", "c.yaml", "--run", "r"}, 3, {"(train): no pairs", "data.split"});
  folder_.write("s.txt", std::string(99, 'a') + "\nb\n");
  folder_.write("t.txt", "c\nd\n");
  expect_error({"train", "c.yaml", "--run", "q"}, 3,
               {"none of 1 pairs fits model.context 16: raise it"});
}

TEST_F(ObjectiveEdges, DocumentsCloseOnlyWithTokensOfTheirOwn) {
  folder_.write("a.txt", "one two three\none two three\none two three\none two three\n" + corpus_);
  write_config("decoder", "data: {text: a.txt, tokenizer: word, split: [60, 40, 0]}\n");
  const auto with = [this](const std::string& end) {
    return run({"train", "c.yaml", "--run", "r", "--set", "model.document_end=\"" + end + "\"",
                "--set", "model.context=4"});
  };
  const Outcome unknown = with("nowhere"), nothing = with(" ");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("model.document_end: 'nowhere' is not in the tokenizer's vocabulary"),
            std::string::npos)
      << unknown.err;
  EXPECT_EQ(nothing.code, 2);
  EXPECT_NE(nothing.err.find("model.document_end: the tokenizer makes no token of ' '"),
            std::string::npos)
      << nothing.err;
  const Outcome trained = with("\\n");
  EXPECT_EQ(trained.code, 0) << trained.err;
}

// Without these, ids of special tokens name other rows, or rows that are not there.
TEST_F(ObjectiveEdges, EvaluationsKeepTheSpecialTokens) {
  write_config("encoder_decoder", "data: {text: a.txt, tokenizer: char}\n");
  train();
  for (const char* set : {"objective.share=0.5", "objective.mean_span=1", "model.context=32"}) {
    expect_error({"evaluate", "r", "--set", set}, 2,
                 {set, "changes the objective's special tokens", "it has [<0> [END] [START]]"});
  }
  EXPECT_EQ(run({"evaluate", "r", "--set", "objective.evaluation_seed=2"}).code, 0);
}

TEST_F(ObjectiveEdges, AnAskedPairMustBeThere) {
  write_config("decoder", "objective: {kind: recall, lengths: [3, 4], distance: 3}\n");
  train();
  EXPECT_EQ(run({"evaluate", "r", "--lengths", "3"}).code, 0);
  expect_error({"evaluate", "r", "--lengths", "2"}, 2, {"length 2", "lengths of 3 to 65536"});
}

TEST_F(ObjectiveEdges, AnotherAlphabetIsAnotherTokenizer) {
  write_config("decoder", kReverse);
  train();
  expect_error({"evaluate", "r", "--set", "objective.letters=5"}, 3,
               {"the task of --set: its tokenizer (char, 5 tokens", "is not the model's"});
}

TEST_F(ObjectiveEdges, PromptsOfUnknownWordsAreCounted) {
  folder_.write("a.txt", "one two three\n" + corpus_);
  write_config("decoder", "data: {text: a.txt, tokenizer: word, split: [60, 40, 0]}\n");
  train({"model.context=4"});
  expect_error({"generate", "r", "--prompt", "  "}, 2, {"the prompt is empty"});
  const Outcome said = run({"generate", "r", "--prompt", "one nowhere two", "--tokens", "1"});
  EXPECT_EQ(said.code, 0);
  EXPECT_NE(said.err.find("1 of 3 tokens of the prompt are not in the vocabulary: the model reads "
                          "<unk>"),
            std::string::npos)
      << said.err;
}

// The same for what is masked, and for what is to be answered.
TEST_F(ObjectiveEdges, UnknownWordsOfOtherInputsAreCounted) {
  folder_.write("a.txt", "one two three\n" + corpus_);
  write_config("encoder", "data: {text: a.txt, tokenizer: word, split: [60, 40, 0]}\n");
  ASSERT_EQ(run({"train", "c.yaml", "--run", "m", "--set", "model.context=4"}).code, 0);
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += "one two\n";
  folder_.write("s.txt", lines);
  folder_.write("t.txt", lines);
  write_config("encoder_decoder",
               "data: {source: s.txt, target: t.txt, tokenizer: word, split: [50, 50, 0]}\n"
               "objective: translation\n");
  ASSERT_EQ(run({"train", "c.yaml", "--run", "s"}).code, 0);
  const auto said = [&](const char* model, const char* option, const char* text) {
    const Outcome outcome = run({"generate", model, option, text});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.err;
  };
  const std::string masked = said("m", "--mask", "one nowhere [MASK] never");
  EXPECT_NE(masked.find("2 of 4 tokens of --mask are not in the vocabulary"), std::string::npos)
      << masked;
  EXPECT_EQ(said("m", "--mask", "one [MASK]"), "");
  const std::string asked = said("s", "--source", "one nowhere");
  EXPECT_NE(asked.find("1 of 2 tokens of --source are not in the vocabulary"), std::string::npos)
      << asked;
  EXPECT_EQ(said("s", "--source", "two one"), "");
}

// Words stand apart, the first new one too.
TEST_F(ObjectiveEdges, ASpaceStandsBetweenPromptAndWords) {
  folder_.write("a.txt", "one two three\n" + corpus_);
  write_config("decoder", "data: {text: a.txt, tokenizer: word, split: [60, 40, 0]}\n");
  train({"model.context=4"});
  const auto continued = [&](const std::string& prompt, const char* tokens) {
    return run({"generate", "r", "--prompt", prompt, "--tokens", tokens, "--greedy"}).out;
  };
  EXPECT_EQ(continued("one two", "0"), "one two\n");
  const std::string words = continued("one two", "3");
  EXPECT_TRUE(words.starts_with("one two ")) << words;
  EXPECT_EQ(continued("one two ", "3"), words) << "no second one";
  EXPECT_TRUE(continued("one two\n", "3").starts_with("one two\n"));
  EXPECT_NE(continued("one two\n", "3")[8], ' ');
}

// Bins of words that the text does not have leave no directory behind.
TEST_F(ObjectiveEdges, CutOffsBeyondTheVocabularyAreFoundBeforeARunIsMade) {
  write_config("decoder", "data: {text: a.txt, tokenizer: char}\n");
  const auto with = [](const char* cutoffs) {
    return std::vector<std::string>{
        "train", "c.yaml", "--run",
        "r",     "--set",  std::string("model.adaptive_softmax.cutoffs=") + cutoffs};
  };
  expect_error(with("[5, 10]"), 2,
               {"the last of model.adaptive_softmax.cutoffs, 10, is not below the vocabulary, 10"});
  EXPECT_FALSE(std::filesystem::exists(folder_.path("r")));
  EXPECT_EQ(run(with("[5, 9]")).code, 0);
}

TEST_F(ObjectiveEdges, OnlyPossibleNumbersOfTokensAreOffered) {
  write_config("decoder", kReverse);
  expect_error({"train", "c.yaml", "--set", "trainer.batch_tokens=8"}, 2,
               {"not a multiple of model.context 16: 16 would be"});
  expect_error({"train", "c.yaml", "--set", "trainer.batch_tokens=40"}, 2, {": 32 or 48 would be"});
}

}  // namespace
}  // namespace tapemeasure
