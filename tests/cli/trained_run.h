// SPDX-License-Identifier: MIT
// A folder with a corpus, a config, and what training made of them.
#pragma once

#include <gtest/gtest.h>

#include "tests/cli/process.h"
#include "tests/cli/small_model.h"
#include "tests/core/temporary_folder.h"

namespace tapemeasure::testing {

inline constexpr const char* kSmallConfig =
    "data: {text: a.txt, tokenizer: char}\n"
    "model: {layers: 1, width: 16, heads: 2, context: 16}\n"
    "trainer: {steps: 6, batch_tokens: 64, evaluate_every: 3, save_every: 3, threads: 1}\n";

class TrainedRun : public ::testing::Test {
 protected:
  /// Makes a.txt and c.yaml; `sets` go to the one run, in "r".
  void train(std::vector<std::string> sets = {}) {
    std::vector<std::string> words = {"train", "c.yaml", "--run", "r"};
    for (std::string& set : sets) {
      words.push_back("--set");
      words.push_back(std::move(set));
    }
    const Outcome trained = run(words);
    ASSERT_EQ(trained.code, 0) << trained.err;
  }
  Outcome run(const std::vector<std::string>& arguments) const {
    return run_program(arguments, folder_.path());
  }
  /// Runs what must fail with `code`; the one line that it says must hold all of `wanted`.
  void expect_error(const std::vector<std::string>& arguments, int code,
                    const std::vector<std::string>& wanted) const {
    const Outcome outcome = run(arguments);
    std::string words;
    for (const std::string& argument : arguments) words += " " + argument;
    EXPECT_EQ(outcome.code, code) << words;
    const std::string complaint = outcome.complaint();
    for (const std::string& part : wanted) {
      EXPECT_NE(complaint.find(part), std::string::npos) << words << "\n" << complaint;
    }
  }

  TemporaryFolder folder_;
  std::string corpus_ = letters(3000);
  std::string text_ = folder_.write("a.txt", corpus_);
  std::string config_ = folder_.write("c.yaml", kSmallConfig);
};

}  // namespace tapemeasure::testing
