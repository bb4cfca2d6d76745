// SPDX-License-Identifier: MIT
#include "app/report/document.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <map>

#include "core/backend.h"
#include "core/error.h"
#include "core/file/hdf5_file.h"

namespace tapemeasure {

namespace fs = std::filesystem;

namespace {

/// The name of a folder, whatever ends its path.
std::string last_name(const std::string& path) {
  fs::path folder = fs::absolute(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  return folder.filename().string();
}

bool is_run(const fs::path& path) { return RunDirectory(path.string()).exists(); }

/// Run directories below a folder, in the order of their names; nothing is looked for inside one.
void find_below(const fs::path& folder, int depth, std::vector<std::string>& found) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error)) entries.push_back(entry.path());
  }
  std::sort(entries.begin(), entries.end());
  for (const fs::path& entry : entries) {
    if (is_run(entry)) {
      found.push_back(entry.string());
    } else if (depth > 0) {
      find_below(entry, depth - 1, found);
    }
  }
}

/// True of a list of objects that have names by which others speak of them.
bool is_list_of(const Json& results, const char* list, std::initializer_list<const char*> names) {
  if (!results.contains(list) || !results[list].is_array()) return false;
  return std::all_of(results[list].begin(), results[list].end(), [&](const Json& each) {
    return each.is_object() && std::all_of(names.begin(), names.end(), [&](const char* name) {
             return each.contains(name) && each[name].is_string();
           });
  });
}

/// The results of an ablation, if that is what a folder holds.
Json ablation_results(const std::string& folder, std::vector<std::string>& problems) {
  Json results = read_json(folder + "/results.json", problems);
  if (!results.is_object() || !results.contains("arms")) return Json();
  const bool whole = is_list_of(results, "arms", {"name"}) &&
                     is_list_of(results, "measures", {"name"}) &&
                     is_list_of(results, "cells", {"arm", "measure"}) &&
                     is_list_of(results, "claims", {"verdict"}) && results.contains("title") &&
                     results["title"].is_string();
  if (whole) return results;
  problems.emplace_back(
      "results.json: damaged, it is not what ablate writes: make it anew with ablate --collect");
  return Json();
}

/// "seed-2" -> 2, anything else -> 0.
int64_t seed_of(const std::string& name) {
  int64_t seed = 0;
  if (name.starts_with("seed-")) std::from_chars(name.data() + 5, name.data() + name.size(), seed);
  return seed;
}

/// Its results may not be there yet: then its runs tell it from any folder with a folder "runs".
bool is_ablation(const std::string& folder) {
  std::vector<std::string> damaged, runs;
  if (is_run(folder)) return false;
  if (!ablation_results(folder, damaged).is_null()) return true;
  find_below(folder + "/runs", 1, runs);
  return !runs.empty() && std::all_of(runs.begin(), runs.end(), [](const std::string& run) {
    return seed_of(last_name(run)) > 0;
  });
}

void add_ablation(const std::string& folder, Shown& shown) {
  std::vector<std::string> found;
  find_below(folder + "/runs", 2, found);
  shown.ablations.push_back(folder);
  for (const std::string& path : found) {
    const fs::path run(path);
    const std::string arm = run.parent_path().filename().string();
    shown.runs.push_back(
        {path, arm + "/" + last_name(path), folder, arm, seed_of(last_name(path))});
  }
}

void add_path(const std::string& path, Shown& shown) {
  check<CheckpointError>(fs::is_directory(path), "{}: there is no such directory", path);
  if (is_run(path)) {
    shown.runs.push_back({path, last_name(path)});
    return;
  }
  if (is_ablation(path)) {
    add_ablation(path, shown);
    return;
  }
  std::vector<std::string> found;
  find_below(path, 2, found);
  check<CheckpointError>(!found.empty(), "{}: no run directory, and none below it", path);
  for (const std::string& run : found) {
    shown.runs.push_back({run, fs::relative(run, path).string()});
  }
}

/// Two runs of one name are told apart by their paths.
void tell_apart(std::vector<ShownRun>& runs) {
  std::map<std::string, int> count;
  for (const ShownRun& run : runs) ++count[run.name];
  for (ShownRun& run : runs) {
    if (count[run.name] > 1) run.name = run.path;
  }
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  char text[32] = "";
  std::tm local{};
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", localtime_r(&now, &local));
  return text;
}

Json ablations_json(const Shown& shown) {
  Json list = Json::array();
  for (const std::string& folder : shown.ablations) {
    std::vector<std::string> problems;
    const Json results = ablation_results(folder, problems);
    if (results.is_null() && problems.empty()) {
      problems.emplace_back("results.json: not there yet, so there are no verdicts and no table");
    }
    list.push_back({{"path", folder}, {"results", results}, {"problems", problems}});
  }
  return list;
}

}  // namespace

Shown find_runs(const std::vector<std::string>& paths) {
  Shown shown;
  for (const std::string& path : paths) add_path(path, shown);
  tell_apart(shown.runs);
  shown.title = paths.size() == 1 ? last_name(paths[0]) : fmt::format("{} runs", shown.runs.size());
  shown.program = fmt::format("tapemeasure {} · {}, HDF5 {}", TAPEMEASURE_VERSION,
                              describe_machine(), hdf5_version());
  return shown;
}

Json gather(const Shown& shown) {
  // Twelve curves of a thousand points are drawn in no time; more of them get fewer each.
  constexpr size_t kPoints = 1500, kAllPoints = 24000, kFewest = 200;
  const size_t share = kAllPoints / std::max<size_t>(1, shown.runs.size());
  Json runs = Json::array();
  for (const ShownRun& run : shown.runs) {
    Json json = run_json(RunDirectory(run.path), run.name, std::clamp(share, kFewest, kPoints));
    if (!run.ablation.empty()) {
      json["ablation"] = run.ablation;
      json["arm"] = run.arm;
      json["seed"] = run.seed;
    }
    runs.push_back(std::move(json));
  }
  return {{"title", shown.title},
          {"made", now_text()},
          {"program", shown.program},
          {"live", shown.live},
          {"ablations", ablations_json(shown)},
          {"runs", runs}};
}

std::vector<std::vector<size_t>> pictured(const Shown& shown) {
  std::vector<std::vector<size_t>> lists;
  std::map<std::string, size_t> list_of_arm;
  for (size_t i = 0; i < shown.runs.size(); ++i) {
    const ShownRun& run = shown.runs[i];
    if (run.ablation.empty()) {
      lists.push_back({i});
      continue;
    }
    const auto [at, first] = list_of_arm.try_emplace(run.ablation + "/" + run.arm, lists.size());
    if (first) lists.emplace_back();
    lists[at->second].push_back(i);
  }
  for (std::vector<size_t>& list : lists) {
    std::stable_sort(list.begin(), list.end(),
                     [&](size_t a, size_t b) { return shown.runs[a].seed < shown.runs[b].seed; });
  }
  return lists;
}

}  // namespace tapemeasure
