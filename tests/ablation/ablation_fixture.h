// SPDX-License-Identifier: MIT
// A folder with a corpus, a base config, and ablations of it that take a second.
#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>

#include "app/ablation/directory.h"
#include "core/file/atomic_file.h"
#include "tests/cli/process.h"
#include "tests/core/temporary_folder.h"

namespace tapemeasure::testing {

inline constexpr const char* kBaseConfig =
    "data: {text: a.txt, tokenizer: char}\n"
    "model: {layers: 1, width: 16, heads: 2, context: 16}\n"
    "trainer: {steps: 60, batch_tokens: 128, evaluate_every: 30, save_every: 10, threads: 1}\n";
/// Six cells.
inline constexpr const char* kSixCells =
    "title: Six cells\n"
    "base: base.yaml\n"
    "seeds: [1, 2]\n"
    "arms:\n"
    "  learned: {}\n"
    "  none: {set: [model.position.kind=none]}\n"
    "  alibi: {set: [model.position.kind=alibi]}\n"
    "measures:\n"
    "  at16: {length: 16}\n"
    "  loss8: {quantity: loss, length: 8, split: valid}\n";

class Ablation : public ::testing::Test {
 protected:
  Ablation() {
    folder_.write("a.txt", read_file(source_file("configs/tiny.txt")));
    folder_.write("base.yaml", kBaseConfig);
    folder_.write("six.yaml", kSixCells);
  }

  Outcome run(const std::vector<std::string>& arguments) const {
    return run_program(arguments, folder_.path());
  }
  /// `ablate FILE --out OUT` with more arguments behind.
  Outcome ablate(const std::string& file, const std::string& out,
                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"ablate", file, "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  pid_t start(const std::string& file, const std::string& out) const {
    return start_group({"ablate", file, "--out", out, "--jobs", "2"}, folder_.path());
  }
  std::string file(const std::string& name) const { return folder_.path(name); }
  AblationDirectory directory(const std::string& out) const {
    return AblationDirectory(folder_.path(out));
  }

  /// What must not depend on how often an ablation was cut.
  std::string results(const std::string& out) const {
    std::string all;
    for (const char* name : {"table.md", "table.csv", "results.json"})
      all += read_file(file(out + "/" + name));
    return all;
  }
  /// When each file below a folder was last written.
  std::map<std::string, std::filesystem::file_time_type> times(const std::string& below) const {
    namespace fs = std::filesystem;
    std::map<std::string, fs::file_time_type> times;
    for (const auto& entry : fs::recursive_directory_iterator(file(below)))
      if (entry.is_regular_file()) times[entry.path().string()] = fs::last_write_time(entry);
    return times;
  }

  TemporaryFolder folder_;
};

/// Waits for something that another process does. False after 20 s.
inline bool comes_true(const std::function<bool()>& what) {
  for (int i = 0; i < 4000 && !what(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return what();
}

/// The process that a lock names; 0 where there is none yet.
inline pid_t holder_of(const std::string& lock) {
  if (!std::filesystem::exists(lock)) return 0;
  const std::string text = read_file(lock);
  pid_t process = 0;
  if (text.starts_with("pid "))
    std::from_chars(text.data() + 4, text.data() + text.size(), process);
  return process;
}

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace tapemeasure::testing
