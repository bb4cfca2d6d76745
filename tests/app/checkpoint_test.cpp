// SPDX-License-Identifier: MIT
// Checkpoints that are damaged or do not fit: the whole one before is taken, with a warning; what
// does not fit is named.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "app/checkpoint.h"
#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/hdf5_file.h"
#include "tests/app/faults.h"
#include "tests/app/run_fixture.h"

namespace tapemeasure::testing {
namespace {

namespace fs = std::filesystem;

void overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// A run of 12 steps that stopped behind step 8 with checkpoints at 2, 4, 6 and 8.
class Damaged : public ::testing::Test {
 protected:
  Damaged() {
    train_in(whole_, workspace_, kSets);
    fs::copy(whole_.path(), run_.path(), fs::copy_options::recursive);
    fs::remove(run_.file("results.json"));
    fs::remove(run_.checkpoint(10));
    fs::remove(run_.checkpoint(12));
  }
  void expect_the_whole_run(const std::string& output) {
    EXPECT_TRUE(last_checkpoint(run_) == last_checkpoint(whole_)) << output;
    EXPECT_EQ(metrics(run_), metrics(whole_));
  }
  Outcome resume(const Sets& sets = {}) {
    return run_program(resume_arguments(workspace_, run_.path(), sets));
  }

  inline static const Sets kSets = {"trainer.save_every=2", "trainer.keep=100"};
  Workspace workspace_;
  RunDirectory whole_{workspace_.path("whole")}, run_{workspace_.path("run")};
};

// R7, R29, R30: cut at any length, or one bit flipped anywhere.
TEST_F(Damaged, TheOneBeforeIsTaken) {
  const std::string good = read_file(run_.checkpoint(8));
  std::vector<std::string> bad;
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{512}, size_t{4096}, good.size() / 2, good.size() - 1}) {
    bad.push_back(good.substr(0, size));
  }
  for (const size_t byte :
       {size_t{3}, size_t{300}, size_t{600}, good.size() / 3, good.size() - 2}) {
    bad.push_back(good);
    bad.back()[byte] = static_cast<char>(bad.back()[byte] ^ 4);
  }
  for (const std::string& bytes : bad) {
    overwrite(run_.checkpoint(8), bytes);
    std::string said;
    train_in(run_, workspace_, kSets, &said);
    EXPECT_NE(said.find("warning: " + run_.checkpoint(8) + ": "), std::string::npos) << said;
    EXPECT_NE(said.find("going back to the checkpoint before it"), std::string::npos);
    expect_the_whole_run(said);
    EXPECT_TRUE(read_file(run_.checkpoint(8)) == good);
    EXPECT_TRUE(read_file(run_.checkpoint(8) + ".damaged") == bytes);
    fs::remove(run_.file("results.json"));
    fs::remove(run_.checkpoint(10));
    fs::remove(run_.checkpoint(12));
  }
}

// A damaged file in front must not cost a whole one its place in the rotation.
TEST_F(Damaged, RotationDoesNotCountIt) {
  overwrite(run_.checkpoint(8), "");
  const Outcome outcome = resume({"trainer.keep=1", "trainer.save_every=1", "trainer.steps=12"});
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(run_.checkpoints(), std::vector<int64_t>{12});
  EXPECT_EQ(metrics(run_), metrics(whole_));
}

TEST_F(Damaged, SeveralAreSkipped) {
  overwrite(run_.checkpoint(8), "x");
  overwrite(run_.checkpoint(6), read_file(run_.checkpoint(4)));  // another step's
  const Outcome outcome = resume();
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("holds step 4, its name says 6"), std::string::npos);
  EXPECT_NE(outcome.output.find("at step 4 of 12"), std::string::npos);
  expect_the_whole_run(outcome.output);
}

TEST_F(Damaged, WithoutAWholeOneItStops) {
  for (const int64_t step : run_.checkpoints()) overwrite(run_.checkpoint(step), "x");
  const auto before = files_below(run_.path());
  const Outcome outcome = resume();
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_NE(outcome.output.find("no checkpoint of this run can be loaded"), std::string::npos);
  auto after = files_below(run_.path());
  after.erase("log.txt");
  EXPECT_TRUE(before == after);
}

// What a killed save leaves goes at the next resume.
TEST_F(Damaged, LeftoversAreRemoved) {
  // No process has this number: it is above the kernel's limit.
  for (const char* name : {".best.h5.4194400.tmp", "checkpoints/.step_000010.h5.4194400.tmp"}) {
    overwrite(run_.file(name), "half");
  }
  EXPECT_EQ(resume().code, 0);
  for (const auto& [name, bytes] : files_below(run_.path())) {
    EXPECT_FALSE(name.ends_with(".tmp")) << name;
  }
}

// Kills and a full disk at some calls of a run; slow_faults_test.cpp has all of them.
TEST(Faults, KilledAtSomeCalls) { expect_survival({.action = "half", .first = 2, .stride = 5}); }
TEST(Faults, DiskFullAtSomeCalls) {
  expect_survival({.action = std::to_string(ENOSPC), .first = 4, .stride = 5});
}

/// A checkpoint of a model's parameters, with one of them left out, added or changed.
class Parameters : public ::testing::Test {
 protected:
  Parameters() : session_(workspace_, {}) {}
  std::string write(const std::string& skip, const std::function<void(Hdf5Writer&)>& add = {}) {
    Hdf5Writer file(kCheckpointFormat);
    for (const Parameter& parameter : session_.model.store.all()) {
      if (parameter.name != skip) file.tensor("parameters/" + parameter.name, parameter.value);
    }
    if (add) add(file);
    file.write(workspace_.path("weights.h5"));
    return workspace_.path("weights.h5");
  }
  /// What loading says; "" when it succeeds.
  std::string load(const std::string& path, const std::string& allowed = "") {
    try {
      unchanged_ = load_parameters(open_checkpoint(path), session_.model.store, allowed);
      return "";
    } catch (const CheckpointError& error) {
      return error.what();
    }
  }
  Workspace workspace_;
  Session session_;
  std::vector<std::string> unchanged_;
};

// R41: one line "name: expected ..., found ..." each.
TEST_F(Parameters, MissingExtraAndOtherOnesAreNamed) {
  const std::string bias = "blocks.0.feedforward.up.bias", gain = "norm.gain";
  const std::vector<float> values(64);
  const auto found = [&](ElementType type, std::vector<int64_t> shape, const std::string& name) {
    return [=, &values](Hdf5Writer& file) {
      file.array("parameters/" + name, type, shape, values.data());
    };
  };
  EXPECT_EQ(load(write("")), "");
  EXPECT_NE(load(write(bias)).find(bias + ": expected f32 [32], found nothing"), std::string::npos);
  EXPECT_NE(load(write(bias, found(ElementType::kF32, {8, 4}, bias)))
                .find(bias + ": expected f32 [32], found f32 [8, 4]"),
            std::string::npos);
  EXPECT_NE(load(write(bias, found(ElementType::kF64, {32}, bias)))
                .find(bias + ": expected f32 [32], found f64 [32]"),
            std::string::npos);
  EXPECT_NE(load(write("", found(ElementType::kF32, {2, 3}, "blocks.7.x")))
                .find("blocks.7.x: expected nothing, found f32 [2, 3]"),
            std::string::npos);
  const std::string both = load(write(bias, found(ElementType::kI32, {4}, gain + "2")));
  EXPECT_NE(both.find(bias + ": expected"), std::string::npos);
  EXPECT_NE(both.find(gain + "2: expected nothing"), std::string::npos);
  EXPECT_EQ(lines_of(both), 0u);
}

TEST_F(Parameters, AllowedOnesStayAsTheyAre) {
  const std::string bias = "blocks.0.feedforward.up.bias";
  EXPECT_EQ(load(write(bias), "blocks.*.bias"), "");
  EXPECT_EQ(unchanged_, std::vector<std::string>{bias});
  EXPECT_NE(load(write(bias), "head.*"), "");
}

TEST(InitFrom, SaysWhatStayedRandom) {
  const Workspace workspace;
  const RunDirectory first(workspace.path("first"));
  train_in(first, workspace, {});
  const auto start = [&](const std::string& run, const Sets& sets,
                         const std::vector<std::string>& more) {
    std::vector<std::string> arguments = train_arguments(workspace, workspace.path(run), sets);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  };
  const Sets wider = {"model.position.kind=none", "model.head_bias=true"};
  const Outcome refused = start("refused", wider, {"--init-from", first.path()});
  EXPECT_EQ(refused.code, 4);
  EXPECT_FALSE(fs::exists(workspace.path("refused"))) << "it began no run";
  EXPECT_NE(refused.output.find("head.bias: expected f32 ["), std::string::npos);
  EXPECT_NE(refused.output.find("position.weight: expected nothing, found f32 [8, 16]"),
            std::string::npos);
  const Outcome allowed =
      start("allowed", {"model.head_bias=true"},
            {"--init-from", first.file("best.h5"), "--allow-missing", "head.*"});
  EXPECT_EQ(allowed.code, 0) << allowed.output;
  EXPECT_NE(allowed.output.find("these stayed random: head.bias"), std::string::npos);
}

// Killed before its first regular checkpoint, such a run must not go on from random weights.
TEST(InitFrom, IsKeptOverAnEarlyStop) {
  const Workspace workspace;
  const RunDirectory first(workspace.path("first")), run(workspace.path("run")),
      whole(workspace.path("whole"));
  train_in(first, workspace, {});
  const auto arguments = [&](const RunDirectory& directory) {
    std::vector<std::string> list = train_arguments(workspace, directory.path());
    list.insert(list.end(), {"--init-from", first.path()});
    return list;
  };
  ASSERT_EQ(run_program(arguments(whole)).code, 0);
  // Some write before the end of the run, with the start behind it.
  bool met = false;
  for (int at = 12; at < 16; ++at) {
    fs::remove_all(run.path());
    run_program(arguments(run), fault(at, "before"));
    if (!run.exists() || run.checkpoints() != std::vector<int64_t>{0}) continue;
    met = true;
    EXPECT_EQ(run_program(resume_arguments(workspace, run.path())).code, 0);
    EXPECT_TRUE(last_checkpoint(run) == last_checkpoint(whole));
  }
  EXPECT_TRUE(met);
}

}  // namespace
}  // namespace tapemeasure::testing
