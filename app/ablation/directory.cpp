// SPDX-License-Identifier: MIT
#include "app/ablation/directory.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/results.h"
#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/folder.h"

namespace tapemeasure {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

std::string measured_name(const Cell& cell, const Measure& measure) {
  return "measured/" + cell.name() + "/" + measure.name + ".json";
}
std::string failure_name(const Cell& cell) { return "failed/" + cell.name() + ".json"; }

void write_json(const std::string& path, const Json& json) {
  make_folder(folder_of(path));
  write_atomically(path, json.dump(1) + "\n");
}

/// Null when there is none, or it is not JSON.
Json read_json(const std::string& path) {
  if (!fs::exists(path)) return nullptr;
  const Json json = Json::parse(read_file(path), nullptr, false);
  return json.is_object() ? json : Json(nullptr);
}

Measured from_json(const Json& json) {
  Measured measured;
  measured.value = json.at("value");
  if (json.contains("on_valid")) measured.on_valid = json.at("on_valid").get<double>();
  measured.protocol = json.at("protocol");
  measured.tokens = json.at("tokens");
  measured.seconds = json.at("seconds");
  if (!json.contains("losses")) return measured;
  for (const auto& [length, losses] : json.at("losses").items())
    measured.losses[std::stoll(length)] = losses.get<std::vector<double>>();
  return measured;
}

/// All losses that an effective context is worked out from.
bool has_losses(const Measured& measured, const Measure& measure) {
  return std::all_of(measure.lengths.begin(), measure.lengths.end(), [&](int64_t length) {
    const auto found = measured.losses.find(length);
    return found != measured.losses.end() &&
           static_cast<int64_t>(found->second.size()) == measured.tokens;
  });
}

}  // namespace

std::optional<Measured> AblationDirectory::measured(const Cell& cell,
                                                    const Measure& measure) const {
  const Json json = read_json(file(measured_name(cell, measure)));
  if (json.is_null() || json.value("specification", "") != measure.specification())
    return std::nullopt;
  try {
    Measured measured = from_json(json);
    return has_losses(measured, measure) ? std::optional(std::move(measured)) : std::nullopt;
  } catch (const std::exception&) {  // JSON of other kinds, or a length that is no number
    return std::nullopt;
  }
}

bool AblationDirectory::has(const Plan& plan, const Cell& cell, const Measure& measure) const {
  const std::optional<Measured> found = measured(cell, measure);
  return found && (found->on_valid || !plan.chooses_by(measure));
}

void AblationDirectory::keep(const Cell& cell, const Measure& measure,
                             const Measured& measured) const {
  Json json = {{"specification", measure.specification()},
               {"value", measured.value},
               {"protocol", measured.protocol},
               {"tokens", measured.tokens},
               {"seconds", measured.seconds}};
  if (measured.on_valid) json["on_valid"] = *measured.on_valid;
  for (const auto& [length, losses] : measured.losses)
    json["losses"][std::to_string(length)] = losses;
  write_json(file(measured_name(cell, measure)), json);
}

std::optional<Failure> AblationDirectory::failure(const Cell& cell) const {
  const Json json = read_json(file(failure_name(cell)));
  if (json.is_null()) return std::nullopt;
  return Failure{json.value("code", 1), json.value("reason", "")};
}

void AblationDirectory::keep(const Cell& cell, const Failure& failure) const {
  write_json(file(failure_name(cell)), {{"code", failure.code}, {"reason", failure.reason}});
}

void AblationDirectory::clear_failure(const Cell& cell) const {
  std::error_code ignored;
  fs::remove(file(failure_name(cell)), ignored);
}

bool AblationDirectory::trained(const Cell& cell) const {
  const std::string path = run(cell).file("results.json");
  return fs::exists(path) && RunResults::read(path).state.starts_with("finished");
}

bool AblationDirectory::finished(const Plan& plan, const Cell& cell) const {
  return trained(cell) &&
         std::all_of(plan.measures.begin(), plan.measures.end(), [&](const Measure& measure) {
           return !measure.evaluated() || !measure.measures(cell.arm) || has(plan, cell, measure);
         });
}

}  // namespace tapemeasure
