// SPDX-License-Identifier: MIT
// Runs and their directories: what a run that was cut anywhere writes in the end is what an
// unbroken one writes. A cut is made by taking away what a killed process would not have left.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/metrics.h"
#include "app/results.h"
#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/hdf5_file.h"
#include "tests/app/run_fixture.h"

namespace tapemeasure::testing {
namespace {

namespace fs = std::filesystem;

/// A copy of a run as it is when it was killed behind step `step`'s checkpoint, in the middle of
/// writing a later row.
RunDirectory cut_at(const Workspace& workspace, const RunDirectory& whole, int64_t step) {
  const RunDirectory cut(workspace.path("cut-" + std::to_string(step)));
  fs::remove_all(cut.path());
  fs::copy(whole.path(), cut.path(), fs::copy_options::recursive);
  fs::remove(cut.file("results.json"));
  for (const int64_t later : cut.checkpoints()) {
    if (later > step) fs::remove(cut.checkpoint(later));
  }
  std::ofstream(cut.file("metrics.jsonl"), std::ios::app) << "{\"step\": 13, \"lo";
  return cut;
}

void expect_same_run(const RunDirectory& a, const RunDirectory& b) {
  EXPECT_EQ(metrics(a), metrics(b));
  EXPECT_TRUE(last_checkpoint(a) == last_checkpoint(b));
  EXPECT_TRUE(read_file(a.file("best.h5")) == read_file(b.file("best.h5")));
  EXPECT_EQ(read_file(a.file("config.yaml")), read_file(b.file("config.yaml")));
  EXPECT_EQ(read_file(a.file("results.json")), read_file(b.file("results.json")));
}

const Sets kRun = {"trainer.save_every=2", "trainer.evaluate_every=3", "trainer.keep=100"};

// R150, R151: rows behind the checkpoint are moved aside and come again, each step once.
TEST(Trainer, ARunThatWasCutEndsAsTheWholeOne) {
  for (const char* backend : {"reference", "cpu"}) {
    for (const char* micro : {"24", "8"}) {
      const Workspace workspace;
      const Sets sets = with(kRun, {std::string("trainer.backend=") + backend,
                                    std::string("trainer.micro_batch_tokens=") + micro});
      const RunDirectory whole(workspace.path("whole"));
      EXPECT_EQ(train_in(whole, workspace, sets), Stop::kFinished);
      ASSERT_EQ(whole.checkpoints(), (std::vector<int64_t>{2, 4, 6, 8, 10, 12}));
      for (const int64_t step : {0, 2, 4, 6, 10, 12}) {
        const RunDirectory cut = cut_at(workspace, whole, step);
        EXPECT_EQ(train_in(cut, workspace, sets), Stop::kFinished);
        expect_same_run(whole, cut);
        const std::string aside = read_file(cut.file("metrics.superseded.jsonl"));
        // 12 rows of steps, 4 of evaluations, and half a row.
        EXPECT_EQ(lines_of(aside), static_cast<size_t>(17 - step - step / 3)) << aside;
      }
    }
  }
}

TEST(Trainer, EachStepHasOneRow) {
  const Workspace workspace;
  const RunDirectory whole(workspace.path("whole"));
  train_in(whole, workspace, kRun);
  const RunDirectory cut = cut_at(workspace, whole, 4);
  train_in(cut, workspace, kRun);
  std::vector<int64_t> steps, evaluated;
  for (const std::string& line : metrics(cut)) {
    const auto row = nlohmann::json::parse(line);
    (row.contains("validation_loss") ? evaluated : steps).push_back(row["step"]);
  }
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(evaluated, (std::vector<int64_t>{3, 6, 9, 12}));
}

// R11: the rate after a resume is the rate, to the last digit.
TEST(Trainer, RatesGoOnForEverySchedule) {
  for (const auto& kind : schedules()) {
    const Workspace workspace;
    Sets sets = with(kRun, {std::string("schedule={kind: ") + kind.name + ", warmup_steps: 3}"});
    if (std::string(kind.name) == "wsd") sets.push_back("schedule.decay_steps=5");
    const RunDirectory whole(workspace.path("whole"));
    train_in(whole, workspace, sets);
    for (const int64_t step : {2, 8}) {
      const RunDirectory cut = cut_at(workspace, whole, step);
      train_in(cut, workspace, sets);
      expect_same_run(whole, cut);
    }
  }
}

TEST(Trainer, TwoRunsOfOneConfigAreTheSameBytes) {
  for (const char* backend : {"reference", "cpu"}) {
    const Workspace workspace;
    const Sets sets = with(kRun, {std::string("trainer.backend=") + backend});
    const RunDirectory one(workspace.path("one")), two(workspace.path("two"));
    train_in(one, workspace, sets);
    train_in(two, workspace, sets);
    expect_same_run(one, two);
    for (const int64_t step : one.checkpoints()) {
      EXPECT_TRUE(read_file(one.checkpoint(step)) == read_file(two.checkpoint(step)));
    }
  }
}

/// Parameters and statistics of a run's end, by name.
std::map<std::string, std::vector<double>> numbers(const RunDirectory& directory) {
  const Hdf5Reader file(directory.checkpoint(directory.checkpoints().back()));
  std::map<std::string, std::vector<double>> values;
  for (const char* group : {"parameters", "optimizer"}) {
    for (const ArrayInfo& info : file.list(group)) {
      if (!info.shape.empty()) values[info.name] = file.reals(info.name);
    }
  }
  return values;
}

// R96.
TEST(Trainer, EvaluatingAndSavingChangeNothing) {
  const Workspace workspace;
  const RunDirectory plain(workspace.path("plain"));
  train_in(plain, workspace, {});
  const auto expected = numbers(plain);
  ASSERT_GT(expected.size(), 50u);
  int number = 0;
  for (const Sets& sets :
       {Sets{"trainer.evaluate_every=1"}, Sets{"trainer.save_every=1"},
        Sets{"trainer.evaluate_every=5", "trainer.save_every=3", "trainer.keep=1"},
        Sets{"data.split=[80, 0, 20]"}}) {
    const RunDirectory other(workspace.path("other" + std::to_string(++number)));
    train_in(other, workspace, sets);
    EXPECT_EQ(numbers(other), expected);
  }
}

TEST(Trainer, ZeroMeansOnlyAtTheEnd) {
  const Workspace workspace;
  const RunDirectory run(workspace.path("run"));
  train_in(run, workspace, {});
  EXPECT_EQ(run.checkpoints(), std::vector<int64_t>{12});
  EXPECT_TRUE(fs::exists(run.file("best.h5")));
  size_t evaluations = 0;
  for (const std::string& row : metrics(run)) {
    evaluations += row.find("validation_loss") != std::string::npos;
  }
  EXPECT_EQ(evaluations, 1u);
}

// R154, R155: with rate 0 no evaluation is better than the first.
TEST(Trainer, PatienceSurvivesAStop) {
  const Workspace workspace;
  const Sets sets = {"trainer.save_every=1",      "trainer.keep=100",
                     "trainer.evaluate_every=2",  "trainer.patience=2",
                     "optimizer.learning_rate=0", "trainer.steps=40"};
  const RunDirectory whole(workspace.path("whole"));
  EXPECT_EQ(train_in(whole, workspace, sets), Stop::kPatience);
  EXPECT_EQ(whole.checkpoints().back(), 6);
  EXPECT_EQ(RunResults::read(whole.file("results.json")).state, "finished early");
  for (const int64_t step : {1, 4, 5, 6}) {
    const RunDirectory cut = cut_at(workspace, whole, step);
    EXPECT_EQ(train_in(cut, workspace, sets), Stop::kPatience);
    expect_same_run(whole, cut);
  }
}

// A split without validation text trains all the same.
TEST(Trainer, NothingToValidateOn) {
  const Workspace workspace;
  const RunDirectory run(workspace.path("run"));
  EXPECT_EQ(train_in(run, workspace, {"data.split=[100, 0, 0]", "trainer.evaluate_every=2"}),
            Stop::kFinished);
  EXPECT_FALSE(fs::exists(run.file("best.h5")));
}

// R36: by number, not by name; the best is a file of its own.
TEST(Trainer, SaysWhatDoesNotDecay) {
  const Workspace workspace;
  const RunDirectory directory(workspace.path("run"));
  std::string said;
  train_in(directory, workspace,
           {"trainer.steps=1", "schedule.warmup_steps=0", "optimizer.weight_decay=0.1",
            "model.layers=12", "model.vocabulary=99", "model.position=none", "model.bias=[query]"},
           &said);
  EXPECT_NE(said.find("weight decay 0.1 on 73 of 135 tensors, not on biases, norms\n"),
            std::string::npos)
      << said;
  said.clear();
  // What is only a part of its kind has its name, once for all blocks.
  train_in(RunDirectory(workspace.path("some")), workspace,
           {"trainer.steps=1", "schedule.warmup_steps=0", "optimizer.weight_decay=0.1",
            "model.position={kind: alibi, learned: true, absolute: learned}"},
           &said);
  EXPECT_NE(said.find("not on position.slopes, biases, norms\n"), std::string::npos) << said;
  EXPECT_EQ(said.find("ln 99"), std::string::npos) << "rows beyond the tokenizer's are no tokens";
}

TEST(RunResults, OfAnotherKindAreNamed) {
  const TemporaryFolder folder;
  for (const char* text : {"", "[]", "{\"steps\": \"many\"}", "{\"best\": 3}"}) {
    const std::string path = folder.write("results.json", text);
    EXPECT_THROW(RunResults::read(path), CheckpointError) << text;
  }
}

TEST(RunDirectory, RotationKeepsTheNewestByNumber) {
  const TemporaryFolder folder;
  const RunDirectory run(folder.path("run"));
  run.create();
  std::ofstream(run.file("best.h5")) << "900";
  for (const int64_t step : {900, 1000, 9900, 10000, 1000000, 9999999, 10000000}) {
    std::ofstream(run.checkpoint(step)) << step;
    if (step == 10000) {
      run.rotate(2);
      EXPECT_EQ(run.checkpoints(), (std::vector<int64_t>{9900, 10000}));
    }
  }
  run.rotate(2);
  EXPECT_EQ(run.checkpoints(), (std::vector<int64_t>{9999999, 10000000}));
  run.rotate(1);
  EXPECT_EQ(run.checkpoints(), std::vector<int64_t>{10000000});
  run.rotate(1);
  EXPECT_EQ(run.checkpoints(), std::vector<int64_t>{10000000});
  EXPECT_EQ(read_file(run.file("best.h5")), "900");
}

TEST(RunDirectory, OtherNamesAreNotCheckpoints) {
  const TemporaryFolder folder;
  const RunDirectory run(folder.path("run"));
  run.create();
  for (const char* name : {"step_.h5", "step_-5.h5", "step_12x.h5", "step_12.h5.damaged",
                           ".step_12.h5.99.tmp", "best.h5", "step_99999999999999999999.h5"}) {
    std::ofstream(run.file(std::string("checkpoints/") + name)) << "";
  }
  EXPECT_TRUE(run.checkpoints().empty());
}

// R36: a folder with files of another run is refused.
TEST(RunDirectory, IsNotMadeAmongOtherCheckpoints) {
  const TemporaryFolder folder;
  const RunDirectory run(folder.path("run"));
  run.create();
  run.create();
  std::ofstream(run.checkpoint(10)) << "";
  EXPECT_THROW(run.create(), CheckpointError);
}

// Whatever stands in metrics.jsonl, whole rows up to the step stay and the rest goes aside.
TEST(Metrics, AreCutWhateverStandsInThem) {
  const TemporaryFolder folder;
  const RunDirectory run(folder.path("run"));
  run.create();
  const std::string good = "{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": null}\n";
  const std::string bad =
      "{\"step\": 3}\n[]\n{\"step\": \"2\"}\n{\"loss\": 1}\n\n{\"step\": 1.5}\nNaN\n";
  std::ofstream(run.file("metrics.jsonl")) << good << bad << "{\"step\": 1}";
  cut_metrics(run, 2);
  EXPECT_EQ(read_file(run.file("metrics.jsonl")), good);
  EXPECT_EQ(read_file(run.file("metrics.superseded.jsonl")), bad + "{\"step\": 1}\n");
}

}  // namespace
}  // namespace tapemeasure::testing
