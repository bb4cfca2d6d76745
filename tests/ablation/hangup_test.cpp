// SPDX-License-Identifier: MIT
// A terminal that is closed, or a connection that breaks: SIGHUP is a wish to save, as SIGTERM is.
#include <signal.h>

#include "app/signals.h"
#include "tests/ablation/ablation_fixture.h"

namespace tapemeasure::testing {
namespace {

namespace fs = std::filesystem;

class Hangup : public Ablation {
 protected:
  // Under nohup this program, and all that it starts, would have it ignored.
  Hangup() : before_(signal(SIGHUP, SIG_DFL)) {}
  ~Hangup() override { signal(SIGHUP, before_); }

 private:
  sighandler_t before_;
};

TEST_F(Hangup, TrainingSaves) {
  const pid_t process = start_group(
      {"train", "base.yaml", "--run", "run", "--set", "trainer.steps=1000000"}, folder_.path());
  const RunDirectory run(file("run"));
  ASSERT_TRUE(comes_true([&] { return run.checkpoints().size() > 1; }));
  kill(process, SIGHUP);
  EXPECT_EQ(wait_for(process), 128 + SIGHUP);
  EXPECT_TRUE(holds(read_file(run.file("log.txt")), "stopped by a signal and saved"));
}

TEST_F(Hangup, AnAblationSavesItsCells) {
  ASSERT_EQ(ablate("six.yaml", "whole").code, 0);
  const pid_t parent = start("six.yaml", "a");
  ASSERT_TRUE(comes_true([&] { return fs::exists(file("a/runs/learned/seed-1/metrics.jsonl")); }));
  kill(-parent, SIGHUP);  // a terminal tells all of them
  EXPECT_EQ(wait_for(parent), 128 + SIGHUP);
  EXPECT_FALSE(directory("a").failure({"learned", 1}));
  EXPECT_FALSE(fs::exists(file("a/runs/alibi/seed-2")));
  EXPECT_EQ(ablate("six.yaml", "a").code, 0);
  EXPECT_EQ(results("a"), results("whole"));
}

TEST_F(Hangup, WhatIsIgnoredStaysIgnored) {
  {
    const SignalGuard guard;
    raise(SIGHUP);
    EXPECT_EQ(SignalGuard::received(), SIGHUP);
  }
  signal(SIGHUP, SIG_IGN);  // as nohup has it
  const SignalGuard guard;
  raise(SIGHUP);
  EXPECT_EQ(SignalGuard::received(), 0);
  EXPECT_EQ(SignalGuard::count(), 0);
}

}  // namespace
}  // namespace tapemeasure::testing
