// SPDX-License-Identifier: MIT
#include "app/metrics.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file/atomic_file.h"

namespace tapemeasure {

using Json = nlohmann::ordered_json;

namespace {

std::string number_text(double value) { return std::isfinite(value) ? Json(value).dump() : "null"; }

}  // namespace

std::string training_row(int64_t step, const StepReport& report, double rate) {
  return fmt::format(
      "{{\"step\": {}, \"loss\": {}, \"learning_rate\": {}, \"gradient_norm\": {}, "
      "\"epoch\": {:.4f}, \"tokens_per_second\": {:.0f}}}",
      step, number_text(report.loss), number_text(report.learning_rate),
      number_text(report.gradient_norm), report.epoch, rate);
}

std::string validation_row(int64_t step, const Evaluation& e) {
  if (e.objective != "causal") {
    Json row = {{"step", step},
                {"validation_loss", e.loss()},
                {"objective", e.objective},
                {"unit", e.unit}};
    if (e.answers > 0) row["exact_match"] = e.exact_match();
    return row.dump();
  }
  const Json row = {{"step", step},
                    {"validation_loss", e.loss()},
                    {"bits_per_token", e.bits_per_token()},
                    {"bits_per_character", e.bits_per_character()},
                    {"bits_per_word", e.bits_per_word()},
                    {"bits_per_byte", e.bits_per_byte()}};
  return row.dump();
}

Json parse_row(const std::string& line) {
  Json row = Json::parse(line, nullptr, false);
  const bool counted = row.is_object() && row.contains("step") && row["step"].is_number_integer();
  return counted ? row : Json(nullptr);
}

void cut_metrics(const RunDirectory& directory, int64_t step) {
  const std::string path = directory.file("metrics.jsonl");
  if (!std::filesystem::exists(path)) return;
  std::string kept, superseded;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const bool whole = !in.eof();
    const Json row = parse_row(line);
    const bool keep = whole && !row.is_null() && row["step"].get<int64_t>() <= step;
    (keep ? kept : superseded) += line + "\n";
  }
  if (superseded.empty()) return;
  const std::string aside = directory.file("metrics.superseded.jsonl");
  std::ofstream out(aside, std::ios::app);
  check<CheckpointError>(bool(out << superseded << std::flush), "{}: cannot be written: {}", aside,
                         std::strerror(errno));
  write_atomically(path, kept);
}

}  // namespace tapemeasure
