// SPDX-License-Identifier: MIT
// What tests of whole runs share: a tiny experiment on a text of its own, runs inside this process,
// and runs of the real program that can be stopped, killed and made to fail.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "app/experiment.h"
#include "app/learner.h"
#include "app/run_directory.h"
#include "app/trainer.h"
#include "tests/core/temporary_folder.h"

namespace tapemeasure::testing {

using Sets = std::vector<std::string>;  ///< "key=value", as after --set

/// A list with more behind it.
Sets with(Sets sets, const Sets& more);

/// `size` characters over a small alphabet, always the same, with something to learn in them.
std::string sample_text(size_t size);

/// A folder with a text, a config and a cache. With 130 characters there are 104 training tokens:
/// 12 windows of 8, and a batch of 3 sequences makes epochs of exactly 4 steps.
class Workspace {
 public:
  explicit Workspace(size_t characters = 130);

  const std::string& text() const { return text_; }
  const std::string& config() const { return config_; }
  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string cache() const { return folder_.path("cache"); }
  /// The config with some keys changed, vocabulary settled.
  Experiment experiment(const Sets& sets = {}) const;
  Corpus tokens(const Experiment& experiment) const;

 private:
  TemporaryFolder folder_;
  std::string text_, config_;
};

/// Keeps what is written to standard error while it lives.
class CapturedErrors {
 public:
  CapturedErrors();
  ~CapturedErrors();
  std::string text() const;

 private:
  TemporaryFolder folder_;
  int before_;
};

using State = std::map<std::string, std::string>;  ///< bytes by name

/// A model and its learner.
struct Session {
  Session(const Workspace& workspace, const Sets& sets);
  Experiment experiment;
  Corpus tokens;
  Model model;
  Learner learner;

  /// All that the learner keeps over a stop.
  State state();
  void restore(State state);
};

/// Trains in this process as `train` or `resume` do. Returns why it stopped; `said` gets the lines.
Stop train_in(const RunDirectory& directory, const Workspace& workspace, const Sets& sets,
              std::string* said = nullptr);

/// The real program, with its output in a file.
class Program {
 public:
  using Environment = std::map<std::string, std::string>;
  Program(const std::vector<std::string>& arguments, const Environment& environment = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// Waits for its end. Returns the exit code, or minus the signal that ended it.
  int wait();
  std::string output() const;

 private:
  TemporaryFolder folder_;
  pid_t pid_ = -1;
};

struct Outcome {
  int code;
  std::string output;
};
/// Runs it to its end.
Outcome run_program(const std::vector<std::string>& arguments,
                    const Program::Environment& environment = {});
/// Arguments of `train` for a workspace, with --run and --set.
std::vector<std::string> train_arguments(const Workspace& workspace, const std::string& run,
                                         const Sets& sets = {});
std::vector<std::string> resume_arguments(const Workspace& workspace, const std::string& run,
                                          const Sets& sets = {});
/// Preloads the library that makes the n-th write, fsync or rename go wrong.
Program::Environment fault(int at, const std::string& action);

/// Waits until there are `rows` lines in a run's metrics.jsonl. False when `program` ends first.
bool wait_for_rows(const RunDirectory& directory, size_t rows);
/// Waits until a file is there.
bool wait_for_file(const std::string& path);

/// Lines of metrics.jsonl without what depends on time.
std::vector<std::string> metrics(const RunDirectory& directory);
/// The bytes of the newest checkpoint.
std::string last_checkpoint(const RunDirectory& directory);
/// Every file below a folder, by name.
std::map<std::string, std::string> files_below(const std::string& folder);
/// Number of lines of a text.
size_t lines_of(const std::string& text);

}  // namespace tapemeasure::testing
