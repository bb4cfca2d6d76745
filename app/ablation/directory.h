// SPDX-License-Identifier: MIT
// The directory of an ablation: whatever is finished is kept here and never done again.
//   runs/ARM/seed-N/            a run directory        measured/ARM/seed-N/MEASURE.json
//   failed/ARM/seed-N.json      why a cell failed      output/ARM/seed-N.txt  what its process said
//   table.md  table.csv  results.json                  made of the above, the same whenever made
//   timings.json                what depends on the machine
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/ablation/plan.h"
#include "app/run_directory.h"

namespace tapemeasure {

/// What a measure gave for one cell.
struct Measured {
  double value = 0;                ///< on the measure's split; of effective context unused
  std::optional<double> on_valid;  ///< where a best_of chooses by it
  std::string protocol;            ///< that was used, "nonoverlap 64"; "" where none goes with it
  int64_t tokens = 0;              ///< targets that were scored
  double seconds = 0;
  std::map<std::string, std::string>
      texts;  ///< SHA-256 of what it was trained on, by path as typed
  std::map<int64_t, std::vector<double>> losses;  ///< effective context: by length, by target
};

struct Failure {
  int code = 1;  ///< exit code of its process
  std::string reason;
};

class AblationDirectory {
 public:
  /// Names only; nothing is made or read.
  explicit AblationDirectory(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  RunDirectory run(const Cell& cell) const { return RunDirectory(file("runs/" + cell.name())); }
  std::string output(const Cell& cell) const { return file("output/" + cell.name() + ".txt"); }

  /// None when it is not there, not whole, or was measured under another specification. `problem`,
  /// where it is given, is set to why what is there is of no use.
  std::optional<Measured> measured(const Cell& cell, const Measure& measure,
                                   std::string* problem = nullptr) const;
  /// True if there is all that the plan wants of this measure.
  bool has(const Plan& plan, const Cell& cell, const Measure& measure) const;
  /// Writes it atomically, making folders as needed.
  void keep(const Cell& cell, const Measure& measure, const Measured& measured) const;
  std::optional<Failure> failure(const Cell& cell) const;
  void keep(const Cell& cell, const Failure& failure) const;
  void clear_failure(const Cell& cell) const;

  /// Trained to its end: results.json says so.
  bool trained(const Cell& cell) const;
  /// Trained and measured with everything that the plan wants of it.
  bool finished(const Plan& plan, const Cell& cell) const;

 private:
  std::string path_;
};

}  // namespace tapemeasure
