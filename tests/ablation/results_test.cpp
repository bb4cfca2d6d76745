// SPDX-License-Identifier: MIT
// Tables and verdicts of measured values that are written by hand.
#include "app/ablation/results.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/ablation/ablation_fixture.h"

namespace tapemeasure::testing {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

class Results : public Ablation {
 protected:
  /// As if the cell had been trained.
  void finish(const Cell& cell) const {
    const RunDirectory run = directory("a").run(cell);
    fs::create_directories(run.path());
    write_atomically(run.file("results.json"), R"({"state": "finished", "parameters": 7})");
  }
  void keep(const Plan& plan, const Cell& cell, const std::string& measure, double value,
            double on_valid) const {
    finish(cell);
    Measured measured;
    measured.value = value;
    measured.on_valid = on_valid;
    directory("a").keep(cell, plan.measure(measure), measured);
  }
  Plan plan(const std::string& text) const {
    folder_.write("plan.yaml", text);
    return Plan::read(file("plan.yaml"));
  }
};

constexpr const char* kBest =
    "base: base.yaml\n"
    "seeds: [1, 2]\n"
    "arms: {a: {}, b: {set: [model.position.kind=none]}}\n"
    "measures: {near: {length: 8}, far: {length: 16}, best: {best_of: [near, far]}}\n"
    "claims: [{id: c, statement: s, source: p, measure: best, compare: [a b]}]\n";

// With its worse seed missing, "far" would look best.
TEST_F(Results, TheBestIsChosenByWholeSeeds) {
  const Plan best = plan(kBest);
  for (const int64_t seed : {1, 2}) {
    keep(best, {"a", seed}, "near", 2.0, 2.0);
    keep(best, {"b", seed}, "near", 2.5, 2.5);
    keep(best, {"b", seed}, "far", 2.6, 2.6);
  }
  keep(best, {"a", 1}, "far", 1.9, 2.1);
  const AblationResults half = collect(best, directory("a"));
  EXPECT_EQ(half.cell("a", "best")->chosen, "near");
  EXPECT_EQ(half.cell("a", "best")->values, (std::map<int64_t, double>{{1, 2.0}}));
  EXPECT_EQ(half.cell("a", "best")->missing.count(2), 1u);
  EXPECT_EQ(half.claims[0].whole.verdict, Verdict::kNotMeasured);

  keep(best, {"a", 2}, "far", 1.9, 1.0);
  const AblationResults whole = collect(best, directory("a"));
  EXPECT_EQ(whole.cell("a", "best")->chosen, "far");
  EXPECT_EQ(whole.cell("b", "best")->chosen, "near");
  EXPECT_EQ(whole.cell("a", "best")->values.size(), 2u);
  EXPECT_EQ(whole.claims[0].whole.verdict, Verdict::kHolds);
  EXPECT_EQ(whole.claims[0].whole.n, 2);
}

// A member that lacks a seed of its own would have the better mean of those that are left.
TEST_F(Results, AMemberWithoutASeedDoesNotWinByIt) {
  const Plan best = plan(kBest);
  keep(best, {"a", 1}, "near", 2.0, 2.0);
  keep(best, {"a", 2}, "near", 2.0, 2.0);
  keep(best, {"a", 2}, "far", 1.0, 1.0);
  EXPECT_EQ(collect(best, directory("a")).cell("a", "best")->values,
            (std::map<int64_t, double>{{2, 1.0}}));
  fs::remove(file("a/measured/a/seed-2/far.json"));
  EXPECT_EQ(collect(best, directory("a")).cell("a", "best")->chosen, "");
  EXPECT_TRUE(collect(best, directory("a")).cell("a", "best")->values.empty());
}

// Of twenty true nulls one holds: every place that shows verdicts says so.
TEST_F(Results, ChanceIsStated) {
  const Plan best = plan(kBest);
  const AblationResults results = collect(best, directory("a"));
  EXPECT_TRUE(holds(table_markdown(best, results),
                    "Of 1 verdicts at p < 0.05, chance alone would give 0.05 that hold"));
  const Json json = Json::parse(results_json(best, results));
  EXPECT_EQ(json["chance"]["verdicts"], 1);
  EXPECT_EQ(json["chance"]["expected"], 0.05);
  for (const char* key : {"p", "difference", "sd", "n"})
    EXPECT_TRUE(json["claims"][0].contains(key)) << key;
}

}  // namespace
}  // namespace tapemeasure::testing
