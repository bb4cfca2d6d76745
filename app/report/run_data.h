// SPDX-License-Identifier: MIT
// What a page shows of one run, as JSON: its config, its curves, its results. Reads the files of
// the run directory alone and never a checkpoint, so it may be called while the run goes on. What
// is missing or damaged is named in "problems" instead of stopping the page.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/experiment.h"
#include "app/run_directory.h"

namespace tapemeasure {

using Json = nlohmann::ordered_json;

/// One curve: values by step, in the order of the rows.
struct Curve {
  std::vector<int64_t> steps;
  std::vector<double> values;

  size_t size() const { return steps.size(); }
  void add(int64_t step, double value);
};

/// At most about `most` points: those of each of equal stretches that come first or last or are its
/// lowest or highest, so that no peak is lost. The whole curve where it is short enough.
Curve thinned(const Curve& curve, size_t most);

/// A JSON file, or null with a line in `problems`.
Json read_json(const std::string& path, std::vector<std::string>& problems);

/// The values of an experiment by key, as they would be written.
Json values_json(Experiment experiment);

/// "name", "path", "state", "config" by key, "curves", "results", "evaluations" (a file that
/// `evaluate --json` wrote, named evaluations.json), "machine", "started", "problems". `points` is
/// how long a curve may be.
Json run_json(const RunDirectory& directory, const std::string& name, size_t points);

}  // namespace tapemeasure
