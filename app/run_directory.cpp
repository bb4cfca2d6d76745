// SPDX-License-Identifier: MIT
#include "app/run_directory.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "core/error.h"

namespace tapemeasure {

namespace fs = std::filesystem;

std::string RunDirectory::checkpoint(int64_t step) const {
  return fmt::format("{}/checkpoints/step_{:06}.h5", path_, step);
}

std::vector<int64_t> RunDirectory::checkpoints() const {
  std::vector<int64_t> steps;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(file("checkpoints"), error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("step_") || !name.ends_with(".h5")) continue;
    int64_t step = 0;
    const char* end = name.data() + name.size() - 3;
    const auto [rest, problem] = std::from_chars(name.data() + 5, end, step);
    if (problem == std::errc() && rest == end && step >= 0) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

bool RunDirectory::exists() const {
  std::error_code error;  // of a link that leads nowhere
  return fs::is_regular_file(file("config.yaml"), error);
}

void RunDirectory::check_free() const {
  check<CheckpointError>(!exists(),
                         "{}: a run is there already: resume it with 'tapemeasure resume {}', or "
                         "name another directory with --run",
                         path_, path_);
  check<CheckpointError>(checkpoints().empty(),
                         "{}: checkpoints of another run are here, without its config.yaml: name "
                         "another directory with --run",
                         path_);
}

void RunDirectory::create() const {
  check_free();
  create_folders();
}

void RunDirectory::create_folders() const { make_folder(file("checkpoints")); }

void RunDirectory::rotate(int64_t keep) const {
  const std::vector<int64_t> steps = checkpoints();
  for (size_t i = 0; i + static_cast<size_t>(keep) < steps.size(); ++i) {
    std::error_code error;
    fs::remove(checkpoint(steps[i]), error);
  }
}

void RunDirectory::set_aside(int64_t step) const {
  std::error_code error;
  fs::rename(checkpoint(step), checkpoint(step) + ".damaged", error);
  check<CheckpointError>(!error, "{}: cannot be renamed: {}", checkpoint(step), error.message());
}

std::string fresh_run_path(const std::string& config_path) {
  const std::string base = "runs/" + fs::path(config_path).stem().string();
  if (!fs::exists(base)) return base;
  for (int number = 2;; ++number) {
    const std::string path = fmt::format("{}-{}", base, number);
    if (!fs::exists(path)) return path;
  }
}

}  // namespace tapemeasure
