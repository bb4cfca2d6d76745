// SPDX-License-Identifier: MIT
#include "app/ablation/cell_progress.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/metrics.h"
#include "core/error.h"

namespace tapemeasure {

namespace {

/// Longer than several rows.
constexpr std::streamoff kTail = 4096;

std::string tail_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "";  // a pipe would be waited for
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const std::streamoff size = file.tellg(), length = std::min(size, kTail);
  std::string text(static_cast<size_t>(length), '\0');
  file.seekg(size - length);
  file.read(text.data(), length);
  return text;
}

}  // namespace

RunProgress progress_of(const RunDirectory& run) {
  const std::string text = tail_of(run.file("metrics.jsonl"));
  RunProgress progress;
  int64_t rows = 0;
  size_t begin = 0;
  // What stands behind the last line break is being written.
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const auto row = parse_row(text.substr(begin, end - begin));
    // The first may be cut; rows of evaluations have no speed.
    if (row.is_null() || !row.contains("tokens_per_second")) continue;
    const auto number = [&](const char* key) {
      return row.contains(key) && row[key].is_number() ? row[key].get<double>() : 0;
    };
    progress.step = row["step"].get<int64_t>();
    progress.loss = number("loss");
    progress.tokens_per_second +=
        (number("tokens_per_second") - progress.tokens_per_second) / static_cast<double>(++rows);
  }
  return progress;
}

std::string progress_line(const std::string& cell, const RunProgress& progress, int64_t steps) {
  if (progress.step == 0) return fmt::format("{}  starting", cell);
  if (progress.step >= steps) {
    return fmt::format("{}  step {}/{}  loss {:.4f}  measuring", cell, progress.step, steps,
                       progress.loss);
  }
  return fmt::format("{}  step {}/{}  loss {:.4f}  {:.0f} tokens/s", cell, progress.step, steps,
                     progress.loss, progress.tokens_per_second);
}

}  // namespace tapemeasure
