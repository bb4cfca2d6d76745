// SPDX-License-Identifier: MIT
// inspect and verify: what files hold, and whether they are whole.
#include <filesystem>

#include "app/commands/commands.h"
#include "app/run_directory.h"
#include "core/error.h"
#include "core/file/hdf5_file.h"

namespace tapemeasure {

namespace {

namespace fs = std::filesystem;

void print_value(const Hdf5Reader& file, const ArrayInfo& info) {
  const char* type = info.is_text ? "text" : name_of(info.type);
  std::string value;
  if (info.is_text) {
    const std::string text = file.text(info.name);
    const bool short_line = text.size() <= 80 && text.find('\n') == std::string::npos;
    value = short_line ? text : fmt::format("({} bytes)", text.size());
  } else if (info.shape.empty()) {
    const bool real = info.type == ElementType::kF64 || info.type == ElementType::kF32;
    value =
        real ? fmt::format("{}", file.real(info.name)) : fmt::format("{}", file.integer(info.name));
  }
  fmt::print("{:<64} {:<5} {:<16} {}\n", info.name, type,
             info.shape.empty() ? "" : info.shape_text(), value);
}

int inspect(const std::string& path) {
  const Hdf5Reader file(path);
  fmt::print("{}: {}\n", path, file.format());
  size_t bytes = 0;
  int64_t parameters = 0;
  for (const ArrayInfo& info : file.list()) {
    print_value(file, info);
    bytes += info.bytes;
    if (!info.name.starts_with("parameters/")) continue;
    int64_t count = 1;
    for (const int64_t size : info.shape) count *= size;
    parameters += count;
  }
  if (parameters > 0) fmt::print("{} parameters\n", parameters);
  fmt::print("{} bytes of data\n", bytes);
  if (file.has("config")) fmt::print("\n{}", file.text("config"));
  return 0;
}

int verify(const std::string& path) {
  if (!fs::is_directory(path)) {
    Hdf5Reader(path).verify();
    fmt::print("{}: whole\n", path);
    return 0;
  }
  std::vector<std::string> files;
  const RunDirectory directory(path);
  for (const int64_t step : directory.checkpoints()) files.push_back(directory.checkpoint(step));
  if (fs::exists(directory.file("best.h5"))) files.push_back(directory.file("best.h5"));
  check<CheckpointError>(!files.empty(), "{}: no checkpoints here", path);
  int damaged = 0;
  for (const std::string& name : files) {
    try {
      Hdf5Reader(name).verify();
      fmt::print("{}: whole\n", name);
    } catch (const CheckpointError& error) {
      fmt::print("{}\n", error.what());
      ++damaged;
    }
  }
  check<CheckpointError>(damaged == 0, "{} of {} files are not whole", damaged, files.size());
  return 0;
}

void add_file_verb(CLI::App& app, Action& action, const char* name, const char* help,
                   const char* what, int (*run)(const std::string&)) {
  CLI::App* verb = app.add_subcommand(name, help);
  auto path = std::make_shared<std::string>();
  verb->add_option("file", *path, what)->required();
  verb->callback([path, run, &action] { action = [path, run] { return run(*path); }; });
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  add_file_verb(app, action, "inspect", "List what a checkpoint or token file holds",
                "a file of ours, .h5", inspect);
}

void add_verify(CLI::App& app, Action& action) {
  add_file_verb(app, action, "verify", "Check that files are whole",
                "a file of ours, .h5, or a run directory: all its checkpoints", verify);
}

}  // namespace tapemeasure
