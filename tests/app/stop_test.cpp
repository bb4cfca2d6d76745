// SPDX-License-Identifier: MIT
// The real program, stopped in every way that there is: killed, asked to stop, run twice, resumed
// with other keys, on other text, when there is nothing left to do.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/file/atomic_file.h"
#include "core/file/hdf5_file.h"
#include "tests/app/run_fixture.h"

namespace tapemeasure::testing {
namespace {

namespace fs = std::filesystem;

/// Long enough to be stopped on its way.
const Sets kLong = {"trainer.steps=700", "trainer.save_every=100", "trainer.evaluate_every=175",
                    "trainer.keep=2"};

/// The last row's step, evaluations aside.
int64_t last_step(const RunDirectory& run) {
  int64_t step = 0;
  for (const std::string& row : metrics(run)) {
    step = nlohmann::json::parse(row)["step"].get<int64_t>();
  }
  return step;
}

void expect_same_end(const RunDirectory& a, const RunDirectory& b) {
  EXPECT_TRUE(last_checkpoint(a) == last_checkpoint(b));
  EXPECT_TRUE(read_file(a.file("best.h5")) == read_file(b.file("best.h5")));
  EXPECT_EQ(metrics(a), metrics(b));
}

class Stops : public ::testing::TestWithParam<const char*> {
 protected:
  Stops() : sets_(with(kLong, {std::string("trainer.backend=") + GetParam()})) {
    EXPECT_EQ(run_program(train_arguments(workspace_, whole_.path(), sets_)).code, 0);
  }
  Workspace workspace_;
  Sets sets_;
  RunDirectory whole_{workspace_.path("whole")};
};

INSTANTIATE_TEST_SUITE_P(Backends, Stops, ::testing::Values("reference", "cpu"));

TEST_P(Stops, KilledAndResumedIsTheSameRun) {
  for (const char* accumulation : {"24", "8"}) {
    const Sets sets = with(sets_, {std::string("trainer.micro_batch_tokens=") + accumulation});
    const RunDirectory whole(workspace_.path(std::string("whole") + accumulation));
    EXPECT_EQ(run_program(train_arguments(workspace_, whole.path(), sets)).code, 0);
    const RunDirectory run(workspace_.path(std::string("killed") + accumulation));
    {
      Program program(train_arguments(workspace_, run.path(), sets));
      ASSERT_TRUE(wait_for_file(run.checkpoint(100)));
      program.signal(SIGKILL);
      ASSERT_EQ(program.wait(), -SIGKILL);
    }
    EXPECT_TRUE(fs::exists(run.file("lock")));
    const Outcome resumed = run_program(resume_arguments(workspace_, run.path()));
    EXPECT_EQ(resumed.code, 0) << resumed.output;
    EXPECT_NE(resumed.output.find("at step "), std::string::npos);
    expect_same_end(whole, run);
  }
}

// A resume before the first checkpoint starts at step 0.
TEST_P(Stops, KilledBeforeTheFirstCheckpoint) {
  const Sets sets = with(sets_, {"trainer.save_every=0"});
  const RunDirectory run(workspace_.path("killed"));
  {
    Program program(train_arguments(workspace_, run.path(), sets));
    ASSERT_TRUE(wait_for_rows(run, 3));
    program.signal(SIGKILL);
    ASSERT_EQ(program.wait(), -SIGKILL);
  }
  ASSERT_TRUE(run.checkpoints().empty());
  const Outcome resumed =
      run_program(resume_arguments(workspace_, run.path(), {"trainer.save_every=100"}));
  EXPECT_EQ(resumed.code, 0) << resumed.output;
  EXPECT_NE(resumed.output.find("at step 0 of 700"), std::string::npos);
  expect_same_end(whole_, run);
}

// R23, R42, R43: a signal saves at the next step border and says which signal it was.
TEST_P(Stops, SignalsSaveAtAStepBorder) {
  int number = 0;
  for (const int kind : {SIGTERM, SIGINT}) {
    for (const size_t rows : {1u, 37u, 230u}) {
      const RunDirectory run(workspace_.path("signalled" + std::to_string(++number)));
      Program program(train_arguments(workspace_, run.path(), sets_));
      ASSERT_TRUE(wait_for_rows(run, rows));
      program.signal(kind);
      // A second and a third one in the middle of the save.
      if (rows == 37) {
        usleep(300);
        program.signal(kind);
        program.signal(SIGTERM);
      }
      ASSERT_EQ(program.wait(), 128 + kind) << program.output();
      ASSERT_FALSE(run.checkpoints().empty());
      const int64_t step = run.checkpoints().back();
      EXPECT_EQ(step, last_step(run));
      Hdf5Reader(run.checkpoint(step)).verify();
      for (const auto& [name, bytes] : files_below(run.path())) {
        EXPECT_FALSE(name.ends_with(".tmp")) << name;
      }
      EXPECT_FALSE(fs::exists(run.file("lock")));
      EXPECT_EQ(run_program(resume_arguments(workspace_, run.path())).code, 0);
      expect_same_end(whole_, run);
    }
  }
}

/// A finished run of 12 steps.
class Finished : public ::testing::Test {
 protected:
  Finished() {
    const Sets sets = {"trainer.save_every=4", "trainer.evaluate_every=4"};
    EXPECT_EQ(run_program(train_arguments(workspace_, run_.path(), sets)).code, 0);
  }
  Outcome resume(const Sets& sets = {}) {
    return run_program(resume_arguments(workspace_, run_.path(), sets));
  }
  Workspace workspace_;
  RunDirectory run_{workspace_.path("run")};
};

// R8: nothing is touched, neither bytes nor times.
TEST_F(Finished, IsAlreadyComplete) {
  const auto before = files_below(run_.path());
  std::map<std::string, fs::file_time_type> times;
  for (const auto& [name, bytes] : before) times[name] = fs::last_write_time(run_.file(name));
  const Outcome outcome = resume({"trainer.keep=1"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.output.find("already complete"), std::string::npos) << outcome.output;
  EXPECT_EQ(lines_of(outcome.output), 1u) << outcome.output;
  EXPECT_TRUE(files_below(run_.path()) == before);
  for (const auto& [name, time] : times) EXPECT_EQ(fs::last_write_time(run_.file(name)), time);
}

// R12: past the planned end the rate stays at the schedule's floor.
TEST_F(Finished, GoesOnWithTheStoredSchedule) {
  const RunDirectory longer(workspace_.path("longer"));
  ASSERT_EQ(
      run_program(train_arguments(workspace_, longer.path(), {"schedule.final_fraction=0.25"}))
          .code,
      0);
  const Outcome outcome =
      run_program(resume_arguments(workspace_, longer.path(), {"trainer.steps=20"}));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("changed: trainer.steps is now 20"), std::string::npos);
  EXPECT_EQ(last_step(longer), 20);
  double highest = 0;
  for (const std::string& line : metrics(longer)) {
    const auto row = nlohmann::json::parse(line);
    if (!row.contains("learning_rate")) continue;
    const double rate = row["learning_rate"];
    highest = std::max(highest, rate);
    if (row["step"] > 12) {
      EXPECT_DOUBLE_EQ(rate, 0.25e-2);
    }
  }
  EXPECT_LE(highest, 1e-2);
  // And it is a run of 20 steps now.
  EXPECT_NE(run_program(resume_arguments(workspace_, longer.path())).output.find("complete"),
            std::string::npos);
}

// R21: what decides the result cannot change, in one line that names the key.
TEST_F(Finished, RefusesOtherModels) {
  const auto before = files_below(run_.path());
  for (const std::string set :
       {"model.width=32", "model.position.kind=none", "model.dropout=0.2", "data.split=[90, 10, 0]",
        "data.tokenizer=byte", "data.order=lanes", "optimizer.learning_rate=1e-4",
        "optimizer.kind=sgd", "schedule.warmup_steps=4", "schedule.steps=20", "trainer.seed=4",
        "trainer.batch_tokens=48", "trainer.precision=f64", "trainer.backend=cpu",
        "trainer.steps=8"}) {
    const Outcome outcome = resume({set, "trainer.keep=9"});
    EXPECT_EQ(outcome.code, 2) << set << ": " << outcome.output;
    EXPECT_EQ(lines_of(outcome.output), 1u) << outcome.output;
    const std::string key = set.substr(0, set.find('='));
    EXPECT_NE(outcome.output.find(key.substr(0, key.rfind('.'))), std::string::npos)
        << outcome.output;
  }
  EXPECT_TRUE(files_below(run_.path()) == before);
}

TEST_F(Finished, MayChangeHowItGoesOn) {
  const Outcome outcome = resume(
      {"trainer.steps=14", "trainer.keep=1", "trainer.save_every=1", "trainer.patience=9",
       "trainer.evaluate_every=0", "trainer.max_minutes=60", "trainer.threads=2",
       "trainer.on_nonfinite=skip", "trainer.nonfinite_limit=2", "trainer.micro_batch_tokens=8"});
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(run_.checkpoints(), std::vector<int64_t>{14});
}

// R15: on another text a resume refuses, with both fingerprints.
TEST_F(Finished, RefusesAnotherText) {
  const auto before = last_checkpoint(run_);
  std::ofstream(workspace_.text(), std::ios::app) << "a";
  const Outcome outcome = resume({"trainer.steps=20"});
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_NE(outcome.output.find("it was 130 bytes"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("now it is 131 bytes"), std::string::npos);
  EXPECT_TRUE(last_checkpoint(run_) == before);
}

TEST_F(Finished, IsNotTrainedOver) {
  const auto before = files_below(run_.path());
  const Outcome outcome = run_program(train_arguments(workspace_, run_.path()));
  EXPECT_EQ(outcome.code, 4);
  EXPECT_EQ(lines_of(outcome.output), 1u);
  EXPECT_TRUE(files_below(run_.path()) == before);
}

// R32: two trainers on one directory.
TEST(Lock, RefusesASecondTrainer) {
  const Workspace workspace;
  const RunDirectory run(workspace.path("run"));
  Program first(train_arguments(workspace, run.path(), with(kLong, {"trainer.steps=1000000"})));
  ASSERT_TRUE(wait_for_rows(run, 2));
  const Outcome second = run_program(resume_arguments(workspace, run.path()));
  EXPECT_EQ(second.code, 4);
  EXPECT_EQ(lines_of(second.output), 1u) << second.output;
  char host[256] = "";
  gethostname(host, sizeof host);
  EXPECT_NE(second.output.find(std::to_string(first.pid())), std::string::npos) << second.output;
  EXPECT_NE(second.output.find(host), std::string::npos) << second.output;
  first.signal(SIGKILL);
  EXPECT_EQ(first.wait(), -SIGKILL);
  // The dead one's lock is no obstacle.
  Program third(resume_arguments(workspace, run.path()));
  const auto rows = metrics(run).size();
  ASSERT_TRUE(wait_for_rows(run, rows + 2));
  third.signal(SIGTERM);
  EXPECT_EQ(third.wait(), 128 + SIGTERM);
}

// A run that goes on past its end is not finished meanwhile.
TEST_F(Finished, IsNotFinishedOnceItGoesOn) {
  const size_t rows = metrics(run_).size();
  Program program(resume_arguments(workspace_, run_.path(), {"trainer.steps=1000000"}));
  ASSERT_TRUE(wait_for_rows(run_, rows + 2));
  EXPECT_FALSE(fs::exists(run_.file("results.json")));
  EXPECT_NE(run_program({"list", run_.path()}).output.find("training (pid"), std::string::npos);
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 128 + SIGTERM);
  EXPECT_NE(run_program({"list", run_.path()}).output.find("stopped"), std::string::npos);
}

TEST(Run, RecordsItsThreads) {
  const Workspace workspace;
  std::ofstream(workspace.path("auto.yaml"))
      << "data: {text: " << workspace.text() << "}\n"
      << "model: {layers: 1, width: 8, heads: 1, context: 8}\ntrainer: {steps: 1, batch_tokens: 8}";
  const RunDirectory run(workspace.path("run"));
  const Outcome outcome = run_program(
      {"train", workspace.path("auto.yaml"), "--run", run.path(), "--cache", workspace.cache()});
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const Config config = Config::read(run.file("config.yaml"));
  EXPECT_TRUE(config.has("trainer.threads"));
  EXPECT_EQ(read_experiment(config).trainer.threads, default_threads());
}

// A full disk that only the metrics meet: no row is lost in silence.
TEST(Run, StopsWhenARowCannotBeWritten) {
  const Workspace workspace;
  workspace.tokens(workspace.experiment());
  const RunDirectory run(workspace.path("run"));
  struct rlimit before {
  }, small{};
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 8000;
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const Outcome outcome =
      run_program(train_arguments(workspace, run.path(), {"trainer.steps=900"}));
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_NE(outcome.output.find("metrics.jsonl: cannot write"), std::string::npos)
      << outcome.output;
  EXPECT_EQ(run_program(resume_arguments(workspace, run.path())).code, 0);
  EXPECT_EQ(metrics(run).size(), 901u);
}

}  // namespace
}  // namespace tapemeasure::testing
