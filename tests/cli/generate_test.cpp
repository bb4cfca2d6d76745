// SPDX-License-Identifier: MIT
// The verb `generate`.
#include <gtest/gtest.h>

#include "tests/cli/trained_run.h"

namespace tapemeasure {
namespace {

using testing::Outcome;

using GenerateTest = testing::TrainedRun;

TEST_F(GenerateTest, ContinuesThePrompt) {
  train();
  const Outcome one = run({"generate", "r", "--prompt", "abc", "--tokens", "30"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_TRUE(one.out.starts_with("abc"));
  EXPECT_EQ(one.out.size(), 3u + 30 + 1);
  EXPECT_EQ(one.out.back(), '\n');
  EXPECT_NE(one.err.find("r/best.h5 at step "), std::string::npos) << one.err;
  EXPECT_EQ(run({"generate", "r", "--prompt", "abc", "--tokens", "30"}).out, one.out);
  EXPECT_NE(run({"generate", "r", "--prompt", "abc", "--tokens", "30", "--seed", "2"}).out,
            one.out);
  const std::string greedy =
      run({"generate", "r/best.h5", "--prompt", "abc", "--tokens", "30", "--greedy"}).out;
  for (const std::vector<std::string>& same : std::vector<std::vector<std::string>>{
           {"--temperature", "0"}, {"--top-k", "1"}, {"--top-p", "0"}}) {
    EXPECT_EQ(run({"generate", "r", "--prompt", "abc", "--tokens", "30", same[0], same[1]}).out,
              greedy);
  }
}

TEST_F(GenerateTest, PastALearnedTableSaysSoOnce) {
  train();
  const Outcome within = run({"generate", "r", "--prompt", "abc", "--tokens", "14"});
  EXPECT_EQ(within.err.find("warning"), std::string::npos) << within.err;
  // R162: ten contexts.
  const Outcome beyond =
      run({"generate", "r", "--prompt", corpus_.substr(0, 160), "--tokens", "9"});
  EXPECT_EQ(beyond.code, 0);
  EXPECT_EQ(beyond.out.size(), 160u + 9 + 1);
  const size_t warning = beyond.err.find("168 tokens are more than the 16 positions");
  EXPECT_NE(warning, std::string::npos) << beyond.err;
  EXPECT_EQ(beyond.err.find("168 tokens", warning + 1), std::string::npos) << beyond.err;
}

TEST_F(GenerateTest, AWindowKeepsTheLastKeys) {
  train({"model.position.kind=rope"});
  const std::vector<std::string> all = {"generate", "r",  "--prompt", corpus_.substr(0, 30),
                                        "--tokens", "40", "--greedy"};
  const auto window = [&](const char* keys) {
    std::vector<std::string> words = all;
    words.insert(words.end(), {"--window", keys});
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_EQ(window("100"), run(all).out);
  EXPECT_EQ(window("0"), run(all).out);
  EXPECT_EQ(window("1").size(), 71u);
  expect_error({"generate", "r", "--prompt", "a", "--window", "-1"}, 2, {"--window"});
}

// A model with memory looks back as far as training did, unless told otherwise.
TEST_F(GenerateTest, ModelsWithMemoryLookBackAsFarAsTrained) {
  train({"model.position.kind=transformer_xl", "model.memory=8"});
  const std::vector<std::string> words = {"generate", "r",  "--prompt", corpus_.substr(0, 30),
                                          "--tokens", "40", "--greedy"};
  const auto with = [&](const char* keys) {
    std::vector<std::string> more = words;
    more.insert(more.end(), {"--window", keys});
    return run(more).out;
  };
  EXPECT_EQ(run(words).out, with("24"));
  EXPECT_EQ(run(words).out.size(), 71u);
}

TEST_F(GenerateTest, ModelsOfPrefixesTakeThePromptAsOne) {
  train({"objective.kind=prefix", "model.position.kind=rope", "model.layers=2"});
  const Outcome one = run({"generate", "r", "--prompt", "abcdefgh", "--tokens", "30", "--greedy"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.out.size(), 8u + 30 + 1);
  expect_error({"generate", "r", "--prompt", "abc", "--window", "4"}, 2,
               {"--window 4 would forget parts of the prompt", "objective.kind prefix"});
}

// R135.
TEST_F(GenerateTest, UnusablePromptsAreTold) {
  train();
  expect_error({"generate", "r", "--prompt", "ab\nz"}, 3,
               {"the prompt: byte 3 (line 2): the character 'z' (U+007A)", "10 characters"});
  expect_error({"generate", "r", "--prompt", "ab\xC4\x85"}, 3, {"'\xC4\x85' (U+0105)"});
  expect_error({"generate", "r", "--prompt", "ab\xFF"}, 3, {"the prompt: byte 2", "not UTF-8: FF"});
  expect_error({"generate", "r", "--prompt", ""}, 2, {"the prompt is empty"});
}

// A model of bytes takes any prompt and gives any bytes.
TEST_F(GenerateTest, ByteModelsTakeAnyPrompt) {
  train({"data.tokenizer=byte"});
  const Outcome any = run({"generate", "r", "--prompt", "\xFF\xC4", "--tokens", "5"});
  EXPECT_EQ(any.code, 0) << any.err;
  EXPECT_EQ(any.out.size(), 2u + 5 + 1);
}

}  // namespace
}  // namespace tapemeasure
