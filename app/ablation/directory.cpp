// SPDX-License-Identifier: MIT
#include "app/ablation/directory.h"

#include <algorithm>
#include <cmath>
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

/// Also of a link that leads nowhere.
bool is_there(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

/// Null when there is none, or it is not JSON.
Json read_json(const std::string& path) {
  if (!is_there(path)) return nullptr;
  const Json json = Json::parse(read_kept_file(path), nullptr, false);
  return json.is_object() ? json : Json(nullptr);
}

/// Throws where it is no number of which a mean could be taken.
double value_of(const Json& json) {
  constexpr double kLargest = 1e300;
  const double value = json.get<double>();
  check<Error>(std::abs(value) <= kLargest, "{} is no measured value", value);
  return value;
}

Measured from_json(const Json& json) {
  Measured measured;
  measured.value = value_of(json.at("value"));
  if (json.contains("on_valid")) measured.on_valid = value_of(json.at("on_valid"));
  measured.texts = json.at("texts").get<std::map<std::string, std::string>>();
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

std::optional<Measured> AblationDirectory::measured(const Cell& cell, const Measure& measure,
                                                    std::string* problem) const {
  const std::string path = file(measured_name(cell, measure));
  std::string ignored;
  std::string& reason = problem ? *problem : ignored;
  if (!is_there(path)) return std::nullopt;
  reason = path + ": damaged: start the ablation again to have it measured anew";
  try {
    const Json json = read_json(path);
    if (json.is_null()) return std::nullopt;
    if (json.at("specification").get<std::string>() != measure.specification()) {
      reason = path + ": measured otherwise than the plan says now: start the ablation again";
      return std::nullopt;
    }
    Measured measured = from_json(json);
    if (!has_losses(measured, measure)) return std::nullopt;
    reason.clear();
    return measured;
  } catch (const DataError& error) {  // it cannot be read, and says why
    reason = error.what();
  } catch (const std::exception&) {  // JSON of other kinds, or a length that is no number
  }
  return std::nullopt;
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
               {"seconds", measured.seconds},
               {"texts", measured.texts}};
  if (measured.on_valid) json["on_valid"] = *measured.on_valid;
  for (const auto& [length, losses] : measured.losses)
    json["losses"][std::to_string(length)] = losses;
  write_json(file(measured_name(cell, measure)), json);
}

std::optional<Failure> AblationDirectory::failure(const Cell& cell) const {
  const std::string path = file(failure_name(cell));
  try {
    const Json json = read_json(path);
    if (json.is_null()) return std::nullopt;
    return Failure{json.at("code").get<int>(), json.at("reason").get<std::string>()};
  } catch (const Json::exception&) {
    return Failure{1, path + ": damaged, it does not say how the cell failed"};
  } catch (const DataError& error) {
    return Failure{1, error.what()};
  }
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
  return is_there(path) && RunResults::read(path).state.starts_with("finished");
}

bool AblationDirectory::finished(const Plan& plan, const Cell& cell) const {
  return trained(cell) &&
         std::all_of(plan.measures.begin(), plan.measures.end(), [&](const Measure& measure) {
           return !measure.evaluated() || !measure.measures(cell.arm) || has(plan, cell, measure);
         });
}

}  // namespace tapemeasure
