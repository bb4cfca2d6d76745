// SPDX-License-Identifier: MIT
#include "tests/app/run_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <regex>
#include <sstream>
#include <thread>

#include "app/corpus.h"
#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/random.h"

namespace tapemeasure::testing {

namespace fs = std::filesystem;

namespace {
// Tests write thousands of files and flush each: where there is a folder in memory, there.
[[maybe_unused]] const bool g_in_memory =
    access("/dev/shm", W_OK) == 0 && setenv("TMPDIR", "/dev/shm", 0) == 0;
// libxsmm puts it into the environment when it is first used: programs that start later would find
// themselves on one core.
const bool g_bound = std::getenv("OMP_PROC_BIND") != nullptr;

/// State as bytes, by name.
class Bytes : public StateVisitor {
 public:
  explicit Bytes(std::map<std::string, std::string>& values, bool loading)
      : values_(values), loading_(loading) {}
  bool loading() const override { return loading_; }
  void tensor(const std::string& name, const Tensor& value) override {
    move(name, value.raw(), value.bytes());
  }
  void integer(const std::string& name, int64_t& value) override {
    move(name, &value, sizeof value);
  }
  void real(const std::string& name, double& value) override { move(name, &value, sizeof value); }
  void text(const std::string& name, std::string& value) override {
    if (loading_)
      value = values_.at(name);
    else
      values_[name] = value;
  }

 private:
  void move(const std::string& name, void* data, size_t size) {
    if (loading_)
      std::memcpy(data, values_.at(name).data(), size);
    else
      values_[name].assign(static_cast<const char*>(data), size);
  }
  std::map<std::string, std::string>& values_;
  bool loading_;
};
}  // namespace

Sets with(Sets sets, const Sets& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

std::string sample_text(size_t size) {
  // Words over the letters a to h: the next letter is often guessed from the last.
  const std::vector<std::string> words = {"bad ",  "cage ", "dab ",  "egg ",
                                          "face ", "had ",  "ache\n"};
  std::string text;
  for (uint64_t draw = 0; text.size() < size; ++draw)
    text += words[random_below(7, draw, words.size())];
  text.resize(size);
  return text;
}

Workspace::Workspace(size_t characters)
    : text_(folder_.write("text.txt", sample_text(characters))) {
  config_ = folder_.write("tiny.yaml", "data: {text: " + text_ +
                                           R"(, tokenizer: char, split: [80, 20, 0]}
model: {layers: 2, width: 16, heads: 2, feedforward: 32, context: 8, dropout: 0.1}
optimizer: {kind: adamw, learning_rate: 1e-2, clip_norm: 1}
schedule: {kind: cosine, warmup_steps: 3}
trainer: {steps: 12, batch_tokens: 24, seed: 3, evaluate_every: 0, save_every: 0,
          backend: reference, threads: 1}
)");
}

Experiment Workspace::experiment(const Sets& sets) const {
  Config config = Config::read(config_);
  for (const std::string& assignment : sets) config.set(assignment);
  Experiment experiment = read_experiment(config);
  settle_vocabulary(experiment, tokens(experiment));
  return experiment;
}

Corpus Workspace::tokens(const Experiment& experiment) const {
  std::vector<std::string> notices;
  return read_corpus(experiment, cache(), notices);
}

CapturedErrors::CapturedErrors() : before_(dup(STDERR_FILENO)) {
  const int file = open(folder_.path("errors").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  dup2(file, STDERR_FILENO);
  close(file);
}

CapturedErrors::~CapturedErrors() {
  dup2(before_, STDERR_FILENO);
  close(before_);
}

std::string CapturedErrors::text() const { return read_file(folder_.path("errors")); }

Session::Session(const Workspace& workspace, const Sets& sets)
    : experiment(workspace.experiment(sets)),
      tokens(workspace.tokens(experiment)),
      model(experiment, tokens.tokenizer),
      learner(experiment, model, tokens) {}

State Session::state() {
  State values;
  Bytes saver(values, false);
  learner.visit_state(saver);
  return values;
}

void Session::restore(State state) {
  Bytes loader(state, true);
  learner.visit_state(loader);
}

Stop train_in(const RunDirectory& directory, const Workspace& workspace, const Sets& sets,
              std::string* said) {
  const Experiment experiment = workspace.experiment(sets);
  const Corpus tokens = workspace.tokens(experiment);
  const bool resumes = directory.exists();
  if (!resumes) directory.create();
  const RunLock lock(directory);
  const CapturedErrors errors;
  Log log;
  Trainer trainer(experiment, tokens, directory, log);
  if (resumes) trainer.restore();
  write_atomically(directory.file("config.yaml"), write_experiment(experiment));
  const Stop stop = trainer.train();
  if (said != nullptr) *said = errors.text();
  return stop;
}

Program::Program(const std::vector<std::string>& arguments, const Environment& environment) {
  std::vector<char*> argv = {const_cast<char*>(TAPEMEASURE_BINARY)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const std::string output = folder_.path("output");
  pid_ = fork();
  if (pid_ != 0) return;
  if (!g_bound) unsetenv("OMP_PROC_BIND");
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  const int file = open(output.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  execv(TAPEMEASURE_BINARY, argv.data());
  _exit(127);
}

Program::~Program() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  wait();
}

void Program::signal(int number) const { kill(pid_, number); }

int Program::wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string Program::output() const { return read_file(folder_.path("output")); }

Outcome run_program(const std::vector<std::string>& arguments,
                    const Program::Environment& environment) {
  Program program(arguments, environment);
  const int code = program.wait();
  return {code, program.output()};
}

std::vector<std::string> train_arguments(const Workspace& workspace, const std::string& run,
                                         const Sets& sets) {
  std::vector<std::string> arguments = {"train", workspace.config(), "--run",
                                        run,     "--cache",          workspace.cache()};
  for (const std::string& set : sets) arguments.insert(arguments.end(), {"--set", set});
  return arguments;
}

std::vector<std::string> resume_arguments(const Workspace& workspace, const std::string& run,
                                          const Sets& sets) {
  std::vector<std::string> arguments = {"resume", run, "--cache", workspace.cache()};
  for (const std::string& set : sets) arguments.insert(arguments.end(), {"--set", set});
  return arguments;
}

Program::Environment fault(int at, const std::string& action) {
  return {{"LD_PRELOAD", FAULT_SHIM},
          {"ASAN_OPTIONS", "verify_asan_link_order=0"},
          {"FAULT_AT", std::to_string(at)},
          {"FAULT_ACTION", action}};
}

namespace {
template <class Condition>
bool wait_until(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  return true;
}
}  // namespace

bool wait_for_rows(const RunDirectory& directory, size_t rows) {
  const std::string path = directory.file("metrics.jsonl");
  return wait_until([&] { return fs::exists(path) && lines_of(read_file(path)) >= rows; });
}

bool wait_for_file(const std::string& path) {
  return wait_until([&] { return fs::exists(path); });
}

std::vector<std::string> metrics(const RunDirectory& directory) {
  static const std::regex kTime(", \"tokens_per_second\": [0-9]+");
  std::istringstream text(read_file(directory.file("metrics.jsonl")));
  std::vector<std::string> rows;
  for (std::string line; std::getline(text, line);)
    rows.push_back(std::regex_replace(line, kTime, ""));
  return rows;
}

std::string last_checkpoint(const RunDirectory& directory) {
  const std::vector<int64_t> steps = directory.checkpoints();
  return steps.empty() ? "" : read_file(directory.checkpoint(steps.back()));
}

std::map<std::string, std::string> files_below(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    files[fs::relative(entry.path(), folder).string()] = read_file(entry.path().string());
  }
  return files;
}

size_t lines_of(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace tapemeasure::testing
