// SPDX-License-Identifier: MIT
// Run directories that someone has edited, thinned out or spoilt, and limits that a run meets.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "core/file/atomic_file.h"
#include "tests/cli/trained_run.h"

namespace tapemeasure {
namespace {

namespace fs = std::filesystem;
using testing::Outcome;

class DamageTest : public testing::TrainedRun {
 protected:
  void edit_config(const std::string& from, const std::string& to) {
    std::string text = read_file(folder_.path("r/config.yaml"));
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << "\n" << text;
    write_atomically(folder_.path("r/config.yaml"), text.replace(at, from.size(), to));
  }
  /// Exit code of a training run in "limited" under a limit of the shell's.
  int train_under(const std::string& limit) const {
    const std::string command = "cd " + folder_.path() + " && rm -rf limited && (" + limit +
                                "; XDG_CACHE_HOME=cache " + TAPEMEASURE_BINARY +
                                " train c.yaml --run limited --set trainer.steps=1"
                                " --set model.width=256 --set model.layers=2) >said 2>&1";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string last_line() const {
    const std::string said = read_file(folder_.path("said"));
    const size_t end = said.size() - 1;
    return said.substr(said.rfind('\n', end - 1) + 1);
  }
  std::vector<std::string> more_ = {"resume", "r", "--set", "trainer.steps=8"};
};

TEST_F(DamageTest, AnEditedConfigIsNotResumed) {
  train({"model.layers=2"});
  const std::string before = read_file(folder_.path("r/checkpoints/step_000006.h5"));
  const std::pair<std::string, std::string> edits[] = {
      {"  layers: 2", "  layers: 1"},  // loads: all that it wants is there
      {"  seed: 1", "  seed: 2"},
      {"  dropout: 0", "  dropout: 0.5"},
      {"  batch_tokens: 64", "  batch_tokens: 128"},
  };
  for (const auto& [from, to] : edits) {
    edit_config(from, to);
    const Outcome outcome = run(more_);
    EXPECT_EQ(outcome.code, 2) << to;
    const std::string key = to.substr(2, to.find(':') - 2);
    EXPECT_NE(outcome.err.find("r/config.yaml does not go with r/checkpoints/step_000006.h5"),
              std::string::npos)
        << outcome.err;
    EXPECT_NE(outcome.err.find(key + " cannot change"), std::string::npos) << outcome.err;
    edit_config(to, from);
  }
  EXPECT_EQ(read_file(folder_.path("r/checkpoints/step_000006.h5")), before);
  EXPECT_EQ(run(more_).code, 0);
}

TEST_F(DamageTest, TextsMayMove) {
  train();
  fs::rename(folder_.path("a.txt"), folder_.path("b.txt"));
  edit_config("a.txt", "b.txt");
  const Outcome outcome = run(more_);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(DamageTest, SpoiltResultsDoNotStopARun) {
  train();
  for (const char* spoilt : {"", "{", "[]", R"({"state": 5})", R"({"best": 3, "steps": "x"})"}) {
    write_atomically(folder_.path("r/results.json"), std::string(spoilt));
    const Outcome listed = run({"list", "r"});
    EXPECT_EQ(listed.code, 0) << spoilt << listed.err;
    EXPECT_NE(listed.out.find("results.json: not "), std::string::npos) << listed.out;
    EXPECT_EQ(run({"resume", "r"}).code, 0) << spoilt;
    EXPECT_NE(run({"list", "r"}).out.find("finished"), std::string::npos) << spoilt;
  }
}

TEST_F(DamageTest, ListReadsAnyMetrics) {
  train();
  write_atomically(folder_.path("r/metrics.jsonl"),
                   std::string("{\"step\": \"x\"}\n{\"step\": null}\n\x01\xFF\n[[[\n{}"));
  const Outcome listed = run({"list", "r"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_NE(listed.out.find("6/6"), std::string::npos) << listed.out;
}

// R46: losses per token of other tokenizers do not compare.
TEST_F(DamageTest, ListMarksWhatDoesNotCompare) {
  train();
  EXPECT_EQ(run({"list", "."}).out.find("cannot be compared"), std::string::npos);
  EXPECT_EQ(run({"train", "c.yaml", "--run", "s", "--set", "data.tokenizer=byte"}).code, 0);
  const std::string out = run({"list", "."}).out;
  EXPECT_NE(out.find("cannot be compared"), std::string::npos) << out;
  EXPECT_LT(out.find("./r "), out.find("*")) << out;
  EXPECT_LT(out.find("./s "), out.find("* finished")) << out;
}

TEST_F(DamageTest, ARunWithoutItsCheckpointsBeginsAnew) {
  train();
  const std::string before = read_file(folder_.path("r/checkpoints/step_000006.h5"));
  fs::remove_all(folder_.path("r/checkpoints"));
  const Outcome outcome = run({"resume", "r"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(read_file(folder_.path("r/checkpoints/step_000006.h5")), before);
}

TEST_F(DamageTest, FilesThatMayNotGrowAreAnErrorAndLeaveNothingHalf) {
  EXPECT_EQ(train_under("ulimit -f 64"), 4);
  EXPECT_NE(last_line().find("cannot write: File too large\n"), std::string::npos) << last_line();
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path("limited"))) {
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << entry.path();
    EXPECT_NE(entry.path().extension(), ".h5") << entry.path();
  }
}

}  // namespace
}  // namespace tapemeasure
