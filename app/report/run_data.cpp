// SPDX-License-Identifier: MIT
#include "app/report/run_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "app/metrics.h"
#include "core/error.h"
#include "core/file/atomic_file.h"

namespace tapemeasure {

namespace fs = std::filesystem;

void Curve::add(int64_t step, double value) {
  steps.push_back(step);
  values.push_back(value);
}

Curve thinned(const Curve& curve, size_t most) {
  constexpr size_t kPerStretch = 4;
  if (curve.size() <= std::max(most, kPerStretch)) return curve;
  const size_t stretches = std::max<size_t>(1, most / kPerStretch);
  Curve kept;
  for (size_t s = 0; s < stretches; ++s) {
    const size_t begin = s * curve.size() / stretches, end = (s + 1) * curve.size() / stretches;
    const auto values = curve.values.begin();
    const auto [low, high] = std::minmax_element(values + static_cast<std::ptrdiff_t>(begin),
                                                 values + static_cast<std::ptrdiff_t>(end));
    const std::set<size_t> chosen = {begin, static_cast<size_t>(low - values),
                                     static_cast<size_t>(high - values), end - 1};
    for (const size_t i : chosen) kept.add(curve.steps[i], curve.values[i]);
  }
  return kept;
}

Json read_json(const std::string& path, std::vector<std::string>& problems) {
  const std::string name = fs::path(path).filename().string();
  std::error_code unknown;
  if (!fs::exists(fs::symlink_status(path, unknown))) return nullptr;
  try {
    Json json = Json::parse(read_kept_file(path), nullptr, false);
    if (json.is_object()) return json;
    problems.push_back(name + ": damaged, it is not a JSON object");
  } catch (const Error& error) {
    problems.push_back(error.what());
  }
  return nullptr;
}

namespace {

// Curves that a page draws; other numbers of a row are left out.
constexpr std::array kCurves = {
    "loss",          "validation_loss", "bits_per_character", "exact_match",
    "learning_rate", "gradient_norm",   "tokens_per_second"};

/// A step whose number is not finite is written as null; a gap shows it.
double number_of(const Json& value) {
  return value.is_number() ? value.get<double>() : std::nan("");
}

Json curve_json(const Curve& curve) {
  Json values = Json::array();
  for (const double value : curve.values) {
    // Seven digits: more than a picture has, less than a page carries.
    values.push_back(std::isfinite(value) ? Json(std::stod(fmt::format("{:.7g}", value))) : Json());
  }
  return {{"steps", curve.steps}, {"values", values}};
}

/// Curves without their values that are not finite, which no minimum can be taken of; those steps
/// are listed.
void split_nonfinite(Curve& curve, std::vector<int64_t>& nonfinite) {
  Curve finite;
  for (size_t i = 0; i < curve.size(); ++i) {
    if (std::isfinite(curve.values[i])) {
      finite.add(curve.steps[i], curve.values[i]);
    } else {
      nonfinite.push_back(curve.steps[i]);
    }
  }
  curve = std::move(finite);
}

std::map<std::string, Curve> read_curves(const std::string& path,
                                         std::vector<std::string>& problems) {
  std::map<std::string, Curve> curves;
  std::istringstream in;
  try {
    in.str(read_kept_file(path));
  } catch (const DataError& error) {
    std::error_code unknown;
    const bool there = fs::exists(fs::symlink_status(path, unknown));
    problems.emplace_back(there ? error.what() : "metrics.jsonl: not there yet");
    return curves;
  }
  int64_t damaged = 0;
  for (std::string line; std::getline(in, line);) {
    if (in.eof()) break;  // a row that is being written
    const Json row = parse_row(line);
    if (row.is_null()) {
      ++damaged;
      continue;
    }
    for (const char* name : kCurves) {
      if (row.contains(name)) curves[name].add(row["step"].get<int64_t>(), number_of(row[name]));
    }
  }
  if (damaged > 0) problems.push_back(fmt::format("metrics.jsonl: {} damaged lines", damaged));
  return curves;
}

Json curves_json(const std::string& path, size_t points, std::vector<std::string>& problems) {
  std::map<std::string, Curve> curves = read_curves(path, problems);
  Json json = Json::object();
  std::vector<int64_t> nonfinite;
  for (const char* name : kCurves) {
    if (!curves.contains(name)) continue;
    Curve& curve = curves[name];
    split_nonfinite(curve, nonfinite);
    const bool main = std::string_view(name) == "loss";
    json[name] = curve_json(thinned(curve, main ? points : points / 3));
    json[name]["of"] = curve.size();
  }
  if (!nonfinite.empty()) {
    problems.push_back(
        fmt::format("metrics.jsonl: numbers that are not finite, the first at step "
                    "{}",
                    *std::min_element(nonfinite.begin(), nonfinite.end())));
  }
  return json;
}

Json config_json(const std::string& path, std::vector<std::string>& problems) {
  try {
    return values_json(read_experiment(Config::read(path)));
  } catch (const Error& error) {
    problems.push_back(fmt::format("config.yaml: {}", error.what()));
    return Json::object();
  }
}

/// What the log says of the machine and of the beginning, as the trainer writes it. A resumed run
/// may have more than one machine.
void add_log(const std::string& path, Json& json, std::vector<std::string>& problems) {
  constexpr size_t kTime = 20;  // "2026-12-01 00:16:20 "
  std::istringstream in;
  try {
    std::error_code unknown;
    if (fs::exists(fs::symlink_status(path, unknown))) in.str(read_kept_file(path));
  } catch (const DataError& error) {
    problems.emplace_back(error.what());
  }
  std::vector<std::string> machines;
  std::string begun;
  for (std::string line; std::getline(in, line);) {
    if (line.size() <= kTime) continue;
    if (begun.empty()) begun = line.substr(0, kTime - 1);
    if (line.find(" threads, oneDNN ") == std::string::npos &&
        line.find(" thread, oneDNN ") == std::string::npos) {
      continue;
    }
    const std::string machine = line.substr(kTime);
    if (std::find(machines.begin(), machines.end(), machine) == machines.end()) {
      machines.push_back(machine);
    }
  }
  json["started"] = begun;
  json["machine"] = machines;
}

std::string state_of(const RunDirectory& directory, const Json& results) {
  if (results.is_object()) return results["state"];
  // A run that was killed leaves its lock file behind.
  return lock_holder(directory.path()).empty() ? "without results" : "running";
}

}  // namespace

Json values_json(Experiment experiment) {
  Json json = Json::object();
  for (const ConfigValue& value : list_values(Config(), [&](Fields& f) { experiment.visit(f); })) {
    json[value.key] = value.value;
  }
  return json;
}

Json run_json(const RunDirectory& directory, const std::string& name, size_t points) {
  std::vector<std::string> problems;
  Json json = {{"name", name}, {"path", directory.path()}};
  json["config"] = config_json(directory.file("config.yaml"), problems);
  json["curves"] = curves_json(directory.file("metrics.jsonl"), points, problems);
  Json results = read_json(directory.file("results.json"), problems);
  if (results.is_object() && !(results.contains("state") && results["state"].is_string())) {
    problems.emplace_back("results.json: damaged, it does not say in which state the run is");
    results = nullptr;
  }
  json["results"] = results;
  json["evaluations"] = read_json(directory.file("evaluations.json"), problems);
  json["state"] = state_of(directory, results);
  if (results.is_null() && json["state"] != "running") {
    problems.emplace_back("results.json: none, the run has not come to its end");
  }
  add_log(directory.file("log.txt"), json, problems);
  json["problems"] = problems;
  return json;
}

}  // namespace tapemeasure
