// SPDX-License-Identifier: MIT
#include "app/results.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file/atomic_file.h"

namespace tapemeasure {

using Json = nlohmann::ordered_json;

namespace {

Json to_json(const Evaluation& e) {
  return {{"protocol", e.protocol.name()},
          {"length", e.protocol.length},
          {"loss", e.loss()},
          {"perplexity", e.perplexity()},
          {"bits_per_token", e.bits_per_token()},
          {"bits_per_character", e.bits_per_character()},
          {"bits_per_word", e.bits_per_word()},
          {"bits_per_byte", e.bits_per_byte()},
          {"nats", e.nats},
          {"tokens", e.tokens},
          {"characters", e.characters},
          {"words", e.words},
          {"bytes", e.bytes}};
}

}  // namespace

std::string json_number(double value) { return std::isfinite(value) ? Json(value).dump() : "null"; }

std::string metrics_row(int64_t step, const Evaluation& e) {
  const Json row = {{"step", step},
                    {"validation_loss", e.loss()},
                    {"bits_per_token", e.bits_per_token()},
                    {"bits_per_character", e.bits_per_character()},
                    {"bits_per_word", e.bits_per_word()},
                    {"bits_per_byte", e.bits_per_byte()}};
  return row.dump();
}

std::string evaluation_json(const Evaluation& evaluation) { return to_json(evaluation).dump(2); }

std::string RunResults::json() const {
  Json root = {{"state", state},           {"position", position}, {"steps", steps},
               {"parameters", parameters}, {"tokens", tokens},     {"skipped_updates", skipped}};
  if (best_step > 0) root["best"] = {{"step", best_step}, {"validation_loss", best_loss}};
  if (last) root["validation"] = to_json(*last);
  return root.dump(2) + "\n";
}

RunResults RunResults::read(const std::string& path) {
  const Json root = Json::parse(read_file(path), nullptr, false);
  check<CheckpointError>(root.is_object(), "{}: not JSON", path);
  RunResults results;
  try {
    results.state = root.value("state", "");
    results.position = root.value("position", "");
    results.steps = root.value("steps", int64_t{0});
    results.parameters = root.value("parameters", int64_t{0});
    if (root.contains("best")) {
      results.best_step = root["best"].value("step", int64_t{0});
      results.best_loss = root["best"].value("validation_loss", 0.0);
    }
  } catch (const Json::exception&) {  // a value of another type
    throw CheckpointError(path + ": not what a run writes");
  }
  return results;
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

void visit_data(StateVisitor& v, const std::vector<TextFingerprint>& texts) {
  auto count = static_cast<int64_t>(texts.size());
  v.integer("data/texts", count);
  for (size_t i = 0; i < texts.size(); ++i) {
    TextFingerprint text = texts[i];
    const std::string place = fmt::format("data/{}/", i);
    v.text(place + "path", text.path);
    v.integer(place + "bytes", text.bytes);
    v.text(place + "sha256", text.sha256);
  }
}

std::vector<TextFingerprint> load_data(StateVisitor& v) {
  int64_t count = 0;
  v.integer("data/texts", count);
  std::vector<TextFingerprint> texts(static_cast<size_t>(count));
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string place = fmt::format("data/{}/", i);
    v.text(place + "path", texts[i].path);
    v.integer(place + "bytes", texts[i].bytes);
    v.text(place + "sha256", texts[i].sha256);
  }
  return texts;
}

}  // namespace tapemeasure
