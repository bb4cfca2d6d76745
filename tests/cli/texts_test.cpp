// SPDX-License-Identifier: MIT
// Texts that are bad, odd or short: training works, or says what is wrong with which file.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/cli/trained_run.h"

namespace tapemeasure {
namespace {

using testing::letters;
using testing::Outcome;

class TextsTest : public testing::TrainedRun {
 protected:
  std::vector<std::string> words(const std::string& text, std::vector<std::string> sets = {}) {
    folder_.write("t.txt", text);
    sets.insert(sets.end(), {"data.text=t.txt", "data.split=[1, 0, 0]", "trainer.steps=2"});
    std::vector<std::string> words = {"train", "c.yaml", "--run", "run-" + std::to_string(++runs_)};
    for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
    return words;
  }
  Outcome train_on(const std::string& text, std::vector<std::string> sets = {}) {
    return run(words(text, std::move(sets)));
  }

  /// One line, and nothing begun.
  void expect_too_short(const Outcome& outcome, const std::string& wanted) {
    EXPECT_EQ(outcome.code, 3);
    EXPECT_TRUE(outcome.err.starts_with("tapemeasure: t.txt (train): ")) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
    EXPECT_NE(outcome.err.find(wanted), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder_.path("run-" + std::to_string(runs_))));
  }

  int runs_ = 0;
};

// A context of 16, 4 sequences at once.
TEST_F(TextsTest, ShortOnes) {
  expect_error(words(""), 3, {"t.txt: the text is empty"});
  expect_too_short(train_on("x"),
                   "1 tokens, and a window of model.context 16 and its target need 17"
                   ": use more text\n");
  expect_too_short(train_on(letters(16)), "lower model.context to 15");
  EXPECT_EQ(train_on(letters(17)).code, 0);
  expect_too_short(train_on(letters(64), {"data.order=lanes"}), "64 tokens make 4 lanes of 15");
  EXPECT_EQ(train_on(letters(65), {"data.order=lanes"}).code, 0);
}

TEST_F(TextsTest, OddOnes) {
  EXPECT_NE(train_on("\xEF\xBB\xBF" + letters(100)).err.find("t.txt: byte 0 (line 1)"),
            std::string::npos);
  EXPECT_NE(train_on("a\r\n" + letters(100)).err.find("1 CRLF"), std::string::npos);
  EXPECT_NE(train_on(letters(40) + '\0' + letters(40)).err.find("byte 40"), std::string::npos);
  EXPECT_EQ(train_on(std::string(5000, 'x')).code, 0);
  EXPECT_EQ(train_on("\xFF\xFE" + letters(40), {"data.tokenizer=byte"}).code, 0);
  expect_error(words("ab\n\xFF\xFE" + letters(40)), 3,
               {"t.txt: byte 3 (line 2): not UTF-8: FF", "tokenizer byte"});
}

TEST_F(TextsTest, UnreadableOnes) {
  const auto train_from = [](const std::string& path) {
    return std::vector<std::string>{"train", "c.yaml", "--set", "data.text=" + path};
  };
  expect_error(train_from("no.txt"), 3, {"no.txt: cannot read: No such file"});
  expect_error(train_from("."), 3, {"a folder"});
  expect_error(train_from("a.txt/b.txt"), 3, {"a.txt/b.txt: cannot read: Not a directory"});
  ASSERT_EQ(symlink("loop.txt", folder_.path("loop.txt").c_str()), 0);
  expect_error(train_from("loop.txt"), 3, {"loop.txt: cannot read: Too many levels"});
  expect_error({"train", "c.yaml", "--cache", "a.txt/cache"}, 3, {"a.txt/cache", "--cache"});
  EXPECT_FALSE(std::filesystem::exists(folder_.path("runs"))) << "nothing begun, nothing left";
}

TEST_F(TextsTest, WithoutValidationThereIsNoBest) {
  const Outcome trained = train_on(letters(100));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_FALSE(std::filesystem::exists(folder_.path("run-1/best.h5")));
  expect_error({"evaluate", "run-1"}, 3, {"t.txt (valid): 0 tokens: nothing to evaluate"});
  EXPECT_EQ(run({"generate", "run-1", "--prompt", "a"}).code, 0);
}

}  // namespace
}  // namespace tapemeasure
