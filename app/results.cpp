// SPDX-License-Identifier: MIT
#include "app/results.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file/atomic_file.h"

namespace tapemeasure {

using Json = nlohmann::ordered_json;

namespace {

Json to_json(const std::vector<PositionLoss>& positions) {
  Json rows = Json::array();
  for (const PositionLoss& at : positions) {
    Json row = {{"first", at.first}, {"last", at.last}, {"tokens", at.tokens}};
    if (at.tokens > 0) row["loss"] = at.loss();
    rows.push_back(row);
  }
  return rows;
}

/// What other objectives than causal come to.
Json objective_json(const Evaluation& e) {
  Json json = {{"objective", e.objective}, {"unit", e.unit}};
  if (e.protocol.length > 0) json["length"] = e.protocol.length;
  json["loss"] = e.loss();
  json["nats"] = e.nats;
  json["tokens"] = e.tokens;
  if (e.answers > 0) {
    json["exact_match"] = e.exact_match();
    json["answers"] = e.answers;
  }
  return json;
}

Json to_json(const Evaluation& e) {
  if (e.objective != "causal") return objective_json(e);
  return {{"objective", e.objective},
          {"protocol", e.protocol.name()},
          {"length", e.protocol.length},
          {"loss", e.loss()},
          {"perplexity", e.perplexity()},
          {"word_perplexity", e.word_perplexity()},
          {"bits_per_token", e.bits_per_token()},
          {"bits_per_character", e.bits_per_character()},
          {"bits_per_word", e.bits_per_word()},
          {"bits_per_byte", e.bits_per_byte()},
          {"nats", e.nats},
          {"tokens", e.tokens},
          {"characters", e.characters},
          {"words", e.words},
          {"bytes", e.bytes},
          {"positions", to_json(e.positions)}};
}

}  // namespace

std::string measures_text(const Evaluation& e) {
  if (e.objective == "causal") {
    return fmt::format(", {:.4f} bits per character, {:.4f} per byte", e.bits_per_character(),
                       e.bits_per_byte());
  }
  std::string text = " per " + e.unit;
  if (e.answers > 0) {
    text += fmt::format(", exact match {:.2f} % of {}", 100 * e.exact_match(), e.answers);
  }
  return text;
}

std::string evaluation_json(const Evaluation& evaluation) { return to_json(evaluation).dump(2); }

std::string RunResults::json() const {
  Json root = {{"state", state},
               {"position", position},
               {"objective", objective},
               {"steps", steps},
               {"parameters", parameters},
               {"tokens", tokens},
               {"skipped_updates", skipped}};
  if (best_step > 0) root["best"] = {{"step", best_step}, {"validation_loss", best_loss}};
  if (last) root["validation"] = to_json(*last);
  return root.dump(2) + "\n";
}

RunResults RunResults::read(const std::string& path) {
  constexpr const char* kRemedy = "remove it and go on with the run: it is written at the end";
  const Json root = Json::parse(read_kept_file(path), nullptr, false);
  check<CheckpointError>(root.is_object(), "{}: not JSON: {}", path, kRemedy);
  try {
    RunResults results;
    results.state = root.value("state", "");
    results.position = root.value("position", "");
    results.steps = root.value("steps", int64_t{0});
    results.parameters = root.value("parameters", int64_t{0});
    if (root.contains("best")) {
      results.best_step = root["best"].value("step", int64_t{0});
      results.best_loss = root["best"].value("validation_loss", 0.0);
    }
    return results;
  } catch (const Json::exception& error) {
    throw CheckpointError(
        fmt::format("{}: not the results of a run: {}: {}", path, error.what(), kRemedy));
  }
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

}  // namespace tapemeasure
