// SPDX-License-Identifier: MIT
// results.json and timings.json.
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/ablation/results.h"
#include "app/ablation/statistics.h"

namespace tapemeasure {

using Json = nlohmann::ordered_json;

namespace {

/// {"model.position.max_distance": "16"} of what an arm sets.
Json changes_json(const Arm& arm) {
  Json changes = Json::object();
  for (const std::string& assignment : arm.set) {
    const size_t equals = assignment.find('=');
    changes[assignment.substr(0, equals)] = assignment.substr(equals + 1);
  }
  return changes;
}

Json arms_json(const Plan& plan, const AblationResults& results) {
  Json arms = Json::array();
  for (size_t i = 0; i < plan.arms.size(); ++i) {
    const Arm& arm = plan.arms[i];
    Json json = {{"name", arm.name},
                 {"label", arm.label},
                 {"parameters", results.parameters[i]},
                 {"changes", changes_json(arm)}};
    if (!arm.init_from.empty()) json["init_from"] = arm.init_from;
    arms.push_back(json);
  }
  return arms;
}

Json measure_json(const Measure& measure) {
  Json json = {{"name", measure.name},
               {"label", measure.label},
               {"unit", unit_of(measure.quantity)},
               {"more_is_better", more_is_better(measure.quantity)},
               {"split", name_of(measure.split)}};
  if (measure.length) json["length"] = *measure.length;
  json["protocol"] = measure.protocol.empty() ? "nonoverlap" : measure.protocol;
  json["set"] = measure.set;
  if (!measure.best_of.empty()) json["best_of"] = measure.best_of;
  if (!measure.lengths.empty()) json["lengths"] = measure.lengths;
  json["in_table"] = measure.in_table;
  return json;
}

Json cell_json(const Plan& plan, const CellResult& cell) {
  std::vector<double> values;
  Json json = {{"arm", cell.arm}, {"measure", cell.measure}, {"wanted", plan.seeds.size()}};
  json["n"] = cell.values.size();
  for (const auto& [seed, value] : cell.values) values.push_back(value);
  json["mean"] = values.empty() ? Json(nullptr) : Json(mean_of(values));
  json["sd"] = values.size() < 2 ? Json(nullptr) : Json(deviation_of(values));
  json["values"] = Json::array();
  for (const auto& [seed, value] : cell.values)
    json["values"].push_back({{"seed", seed}, {"value", value}});
  json["missing"] = Json::array();
  for (const auto& [seed, reason] : cell.missing)
    json["missing"].push_back({{"seed", seed}, {"reason", reason}});
  if (!cell.chosen.empty()) json["chosen"] = cell.chosen;
  return json;
}

/// Numbers that rest on times are left out: they would differ from one measuring to the next.
Json judgement_json(const Judgement& judgement, bool with_numbers) {
  Json json = {{"verdict", name_of(judgement.verdict)}, {"comparison", judgement.comparison}};
  const bool numbers = with_numbers && judgement.verdict != Verdict::kNotMeasured;
  json["p"] = numbers && !std::isnan(judgement.p) ? Json(judgement.p) : Json(nullptr);
  json["difference"] = numbers ? Json(judgement.difference) : Json(nullptr);
  json["sd"] = numbers ? Json(judgement.deviation) : Json(nullptr);
  json["n"] = judgement.n;
  return json;
}

Json claim_json(const Claim& claim, const JudgedClaim& judged, bool numbers) {
  Json json = {
      {"id", claim.id}, {"claim", claim.statement}, {"source", claim.source}, {"core", claim.core}};
  json.update(judgement_json(judged.whole, numbers));
  json["parts"] = Json::array();
  for (const Judgement& part : judged.parts) json["parts"].push_back(judgement_json(part, numbers));
  if (!claim.note.empty()) json["note"] = claim.note;
  return json;
}

Json paper_json(const PaperTable& paper) {
  Json json = {{"source", paper.source}, {"columns", paper.columns}, {"rows", Json::array()}};
  for (const PaperTable::Row& row : paper.rows)
    json["rows"].push_back({{"arm", row.arm}, {"label", row.label}, {"values", row.values}});
  return json;
}

}  // namespace

const CellResult* AblationResults::cell(const std::string& arm, const std::string& measure) const {
  for (const CellResult& each : cells)
    if (each.arm == arm && each.measure == measure) return &each;
  return nullptr;
}

std::string results_json(const Plan& plan, const AblationResults& results) {
  Json root = {{"title", plan.title}, {"seeds", plan.seeds}};
  root["arms"] = arms_json(plan, results);
  root["measures"] = Json::array();
  for (const Measure& measure : plan.measures)
    if (!is_time(measure.quantity)) root["measures"].push_back(measure_json(measure));
  root["cells"] = Json::array();
  for (const CellResult& cell : results.cells)
    if (!is_time(plan.measure(cell.measure).quantity))
      root["cells"].push_back(cell_json(plan, cell));
  root["paper"] = paper_json(plan.paper);
  root["claims"] = Json::array();
  for (size_t i = 0; i < plan.claims.size(); ++i)
    root["claims"].push_back(
        claim_json(plan.claims[i], results.claims[i], !plan.rests_on_times(plan.claims[i])));
  root["chance"] = {{"verdicts", tested_claims(plan)},
                    {"expected", kSignificance * static_cast<double>(tested_claims(plan))}};
  return root.dump(1) + "\n";
}

std::string timings_json(const Plan& plan, const AblationResults& results) {
  Json root = {{"cells", Json::array()}};
  for (const CellResult& cell : results.cells)
    if (is_time(plan.measure(cell.measure).quantity))
      root["cells"].push_back(cell_json(plan, cell));
  root["claims"] = Json::array();
  for (size_t i = 0; i < plan.claims.size(); ++i) {
    if (plan.rests_on_times(plan.claims[i]))
      root["claims"].push_back(claim_json(plan.claims[i], results.claims[i], true));
  }
  return root.dump(1) + "\n";
}

}  // namespace tapemeasure
