// SPDX-License-Identifier: MIT
// Cells as children of this process.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>

#include "app/ablation/cell_progress.h"
#include "app/ablation/child_process.h"
#include "app/ablation/launcher.h"
#include "app/ablation/results.h"
#include "app/results.h"
#include "app/signals.h"
#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/log.h"

namespace tapemeasure {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kWaitMilliseconds = 20;
constexpr std::chrono::milliseconds kRedraw{200};
constexpr double kPlainTotalSeconds = 30;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

enum class State { kWaiting, kRunning, kFinished, kFailed, kLeft };

struct Job {
  Cell cell;
  State state = State::kWaiting;
  int64_t steps = 0;       // of the whole run
  int64_t first_step = 0;  // that were done before this launch
  int64_t step = 0;        // that are done now
  pid_t process = 0;
  int code = 0;
  Clock::time_point started = {};
};

/// The last line that a process said.
std::string last_line(const std::string& path) {
  std::string text = read_file(path);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

class LocalLauncher {
 public:
  LocalLauncher(const Plan& plan, const AblationDirectory& directory, const LaunchOptions& options);
  /// Where something was thrown, no cell goes on without us.
  ~LocalLauncher();
  LocalLauncher(const LocalLauncher&) = delete;
  LocalLauncher& operator=(const LocalLauncher&) = delete;

  Outcome run();

 private:
  bool is_ready(const Job& job) const;
  void start_ready();
  void start(Job& job);
  void stop_all(int signal);
  void take_signals();
  void reap();
  void end(Job& job, const Ending& ending);
  Failure failure_of(const Job& job, const Ending& ending) const;
  void show();
  std::string total_line() const;
  void say_failures();
  int64_t count(State state) const;
  Outcome outcome() const;

  const Plan& plan_;
  const AblationDirectory& directory_;
  const LaunchOptions& options_;
  Log log_;
  std::vector<Job> jobs_;  // in the plan's order
  Clock::time_point started_ = Clock::now(), shown_ = {};
  int signal_ = 0;         // that stops us, or 0
  bool stopping_ = false;  // nothing is started any more
  bool killed_ = false;
};

LocalLauncher::LocalLauncher(const Plan& plan, const AblationDirectory& directory,
                             const LaunchOptions& options)
    : plan_(plan), directory_(directory), options_(options) {
  std::map<std::string, int64_t> steps;  // reading a config takes its time
  for (const Cell& cell : plan.cells()) {
    if (!steps.count(cell.arm)) steps[cell.arm] = read_experiment(plan.config(cell)).trainer.steps;
    Job job{cell};
    job.steps = steps[cell.arm];
    if (directory.finished(plan, cell)) {
      job.state = State::kFinished;
      job.first_step = job.steps;
    } else {
      job.first_step = std::min(job.steps, progress_of(directory.run(cell)).step);
    }
    job.step = job.first_step;
    jobs_.push_back(std::move(job));
  }
}

LocalLauncher::~LocalLauncher() {
  for (const Job& job : jobs_) {
    if (job.state != State::kRunning) continue;
    kill(job.process, SIGTERM);
    while (waitpid(job.process, nullptr, 0) < 0 && errno == EINTR) continue;
  }
}

int64_t LocalLauncher::count(State state) const {
  return std::count_if(jobs_.begin(), jobs_.end(),
                       [&](const Job& job) { return job.state == state; });
}

/// What it starts from has come to an end. Where that was a failure, the cell says so itself.
bool LocalLauncher::is_ready(const Job& job) const {
  const Cell source{plan_.arm(job.cell.arm).init_from, job.cell.seed};
  return job.state == State::kWaiting &&
         std::all_of(jobs_.begin(), jobs_.end(), [&](const Job& other) {
           const bool ended = other.state == State::kFinished || other.state == State::kFailed;
           return ended || !(other.cell == source);
         });
}

void LocalLauncher::start_ready() {
  for (Job& job : jobs_) {
    if (stopping_ || count(State::kRunning) >= options_.jobs) return;
    if (is_ready(job)) start(job);
  }
}

void LocalLauncher::start(Job& job) {
  directory_.clear_failure(job.cell);
  std::vector<std::string> words = {options_.program,
                                    "ablate",
                                    plan_.path,
                                    "--out",
                                    directory_.path(),
                                    "--cell",
                                    job.cell.name(),
                                    "--cache",
                                    options_.cache,
                                    "--threads",
                                    std::to_string(options_.threads)};
  for (const std::string& assignment : plan_.overrides) {
    words.insert(words.end(), {"--set", assignment});
  }
  job.process = start_process(words, directory_.output(job.cell));
  job.state = State::kRunning;
  job.started = Clock::now();
}

void LocalLauncher::stop_all(int signal) {
  stopping_ = true;
  for (const Job& job : jobs_) {
    if (job.state == State::kRunning) kill(job.process, signal);
  }
}

void LocalLauncher::take_signals() {
  const int received = SignalGuard::received();
  if (received == 0) return;
  if (signal_ == 0) {
    signal_ = received;
    log_.info("signal {}: waiting for {} running cells to save; a second one kills them", received,
              count(State::kRunning));
    stop_all(received);
  } else if (!killed_ && SignalGuard::count() > 1) {
    killed_ = true;
    stop_all(SIGKILL);
  }
}

Failure LocalLauncher::failure_of(const Job& job, const Ending& ending) const {
  if (ending.signal != 0) return {ending.code, fmt::format("killed by signal {}", ending.signal)};
  if (ending.code > 128)
    return {ending.code, fmt::format("stopped by signal {}", ending.code - 128)};
  if (const auto kept = directory_.failure(job.cell)) return {ending.code, kept->reason};
  return {ending.code, last_line(directory_.output(job.cell))};
}

void LocalLauncher::end(Job& job, const Ending& ending) {
  shown_ = {};  // its row is no longer live
  job.step = std::clamp(progress_of(directory_.run(job.cell)).step, job.first_step, job.steps);
  job.code = ending.code;
  if (ending.code == 0) {
    job.state = State::kFinished;
    job.step = job.steps;
    log_.info("{} finished in {}", job.cell.name(), duration_text(seconds_since(job.started)));
  } else if (stopping_ && ending.code > 128) {
    job.state = State::kLeft;
    log_.info("{} stopped at step {} of {}", job.cell.name(), job.step, job.steps);
    return;
  } else {
    job.state = State::kFailed;
    const Failure failure = failure_of(job, ending);
    directory_.keep(job.cell, failure);
    log_.warn("{} failed: {}", job.cell.name(), failure.reason);
    if (!options_.keep_going) stop_all(SIGTERM);
  }
  write_results(plan_, directory_);
}

void LocalLauncher::reap() {
  for (Job& job : jobs_) {
    int status = 0;
    if (job.state != State::kRunning || waitpid(job.process, &status, WNOHANG) != job.process)
      continue;
    take_signals();  // one that ended the cell, sent to all of us, has come here by now
    end(job, ending_of(status));
  }
}

std::string LocalLauncher::total_line() const {
  int64_t done_here = 0, left = 0;
  for (const Job& job : jobs_) {
    done_here += job.step - job.first_step;
    if (job.state != State::kFailed) left += job.steps - job.step;
  }
  const int64_t failed = count(State::kFailed);
  const double seconds = seconds_since(started_) * static_cast<double>(left) /
                         static_cast<double>(std::max<int64_t>(1, done_here));
  return fmt::format(
      "{} of {} cells finished{}, {} running{}", count(State::kFinished), jobs_.size(),
      failed > 0 ? fmt::format(", {} failed", failed) : "", count(State::kRunning),
      done_here > 0 && left > 0 ? fmt::format(", {} left", duration_text(seconds)) : "");
}

void LocalLauncher::show() {
  if (Clock::now() - shown_ < kRedraw) return;
  shown_ = Clock::now();
  std::string lines;
  for (Job& job : jobs_) {
    if (job.state != State::kRunning) continue;
    const RunProgress progress = progress_of(directory_.run(job.cell));
    job.step = std::clamp(progress.step, job.first_step, job.steps);
    lines += progress_line(job.cell.name(), progress, job.steps) + "\n";
  }
  log_.progress(lines + total_line(), false, kPlainTotalSeconds);
}

void LocalLauncher::say_failures() {
  for (const Job& job : jobs_) {
    if (job.state != State::kFailed) continue;
    const auto failure = directory_.failure(job.cell);
    log_.info("failed: {}: {} ({})", job.cell.name(), failure ? failure->reason : "",
              directory_.output(job.cell));
  }
}

Outcome LocalLauncher::outcome() const {
  Outcome outcome;
  outcome.finished = count(State::kFinished);
  outcome.failed = count(State::kFailed);
  outcome.left = static_cast<int64_t>(jobs_.size()) - outcome.finished - outcome.failed;
  const auto failed = std::find_if(jobs_.begin(), jobs_.end(),
                                   [](const Job& job) { return job.state == State::kFailed; });
  if (failed != jobs_.end()) outcome.code = failed->code;
  outcome.stopped = signal_ != 0;
  if (outcome.stopped) outcome.code = 128 + signal_;
  return outcome;
}

Outcome LocalLauncher::run() {
  const SignalGuard guard;
  while (true) {
    take_signals();
    start_ready();
    if (count(State::kRunning) == 0) break;
    show();
    poll(nullptr, 0, kWaitMilliseconds);
    reap();
  }
  write_results(plan_, directory_);
  log_.progress(total_line(), true);
  say_failures();
  return outcome();
}

}  // namespace

Outcome launch_local(const Plan& plan, const AblationDirectory& directory,
                     const LaunchOptions& options) {
  return LocalLauncher(plan, directory, options).run();
}

}  // namespace tapemeasure
