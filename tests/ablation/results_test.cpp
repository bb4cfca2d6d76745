// SPDX-License-Identifier: MIT
// Tables and verdicts of measured values that are written by hand.
#include "app/ablation/results.h"

#include <sys/stat.h>

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

constexpr const char* kPlain =
    "base: base.yaml\nseeds: [1]\narms: {a: {}, b: {set: [model.position.kind=none]}}\n"
    "measures: {m: {length: 16}}\n";

// Whatever lies where a measured value should, the others are shown and this one is named.
TEST_F(Results, WhatIsDamagedIsNamed) {
  const Plan two = plan(kPlain);
  keep(two, {"a", 1}, "m", 2.0, 2.0);
  keep(two, {"b", 1}, "m", 2.0, 2.0);
  const std::string path = file("a/measured/a/seed-1/m.json"), whole = read_file(path);
  const auto reason = [&] { return collect(two, directory("a")).cell("a", "m")->missing.at(1); };
  const auto with = [&](const std::string& old, const std::string& now) {
    std::string text = whole;
    text.replace(text.find(old), old.size(), now);
    return text;
  };
  const std::string damaged = path + ": damaged: start the ablation again to have it measured anew";
  for (const std::string& text :
       {std::string(), whole.substr(0, whole.size() / 2), std::string("[]"), std::string("{}"),
        std::string("{\"specification\": 5}"), with("2.0", "\"2\""), with("2.0", "NaN"),
        with("2.0", "1e999"), with("2.0", "1e308"), with("2.0", "null"),
        with("\"value\"", "\"other\"")}) {
    write_atomically(path, text);
    EXPECT_EQ(reason(), damaged) << text;
  }
  write_atomically(path, with("length 16", "length 8"));
  EXPECT_EQ(reason(),
            path + ": measured otherwise than the plan says now: start the ablation again");
  fs::remove(path);
  const auto refused = [&](const std::string& what) {
    EXPECT_EQ(reason(), path + ": cannot read: " + what + ", not a file: remove it");
    EXPECT_THROW(write_atomically(path, "x"), CheckpointError);
    fs::remove(path);
  };
  fs::create_directory(path);
  refused("a folder");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  refused("a pipe");
  fs::create_symlink("/dev/zero", path);
  refused("a device");
  fs::create_symlink("m.json", path);  // to itself
  EXPECT_TRUE(holds(reason(), "m.json: cannot read: Too many levels")) << reason();
  fs::remove(path);
  EXPECT_EQ(reason(), "not run yet");
  EXPECT_EQ(collect(two, directory("a")).cell("b", "m")->values.at(1), 2.0);
  write_atomically(path, whole);
  EXPECT_EQ(collect(two, directory("a")).cell("a", "m")->values.at(1), 2.0);
}

TEST_F(Results, DamagedFailuresAreFailures) {
  const Plan two = plan(kPlain);
  fs::create_directories(file("a/failed/a"));
  write_atomically(file("a/failed/a/seed-1.json"), R"({"code": "x", "reason": 7})");
  EXPECT_TRUE(holds(collect(two, directory("a")).cell("a", "m")->missing.at(1), "damaged"));
}

// Somebody edited the text between two cells.
TEST_F(Results, CellsOfAnotherTextAreRefused) {
  const Plan two = plan(kPlain);
  for (const char* arm : {"a", "b"}) {
    finish({arm, 1});
    Measured measured;
    measured.value = 2;
    measured.texts = {{"a.txt", std::string("sum of ") + arm}};
    directory("a").keep({arm, 1}, two.measures[0], measured);
  }
  try {
    collect(two, directory("a"));
    FAIL() << "not refused";
  } catch (const DataError& error) {
    EXPECT_TRUE(holds(error.what(), "a.txt: the text has changed between two cells") &&
                holds(error.what(), "a/seed-1 had SHA-256 sum of a, b/seed-1 had sum of b"))
        << error.what();
  }
}

constexpr const char* kHostile =
    "title: \"# a | b\\n<script>\"\n"
    "base: base.yaml\nseeds: [1]\n"
    "arms:\n"
    "  a: {label: \"x | `y`\\n<script>, \\\"q\\\"\"}\n"
    "  b: {label: \"[l](http://x) *\", set: [model.position.kind=none]}\n"
    "measures: {m: {label: \"1 | 2\", length: 16}}\n"
    "claims: [{id: c, statement: \"s | <b>\", source: \"p\\n|\", compare: [a b]}]\n";

TEST_F(Results, NamesAreShownAndMeanNothing) {
  const Plan hostile = plan(kHostile);
  const AblationResults results = collect(hostile, directory("a"));
  const std::string table = table_markdown(hostile, results);
  EXPECT_TRUE(table.starts_with("# # a \\| b &lt;script>\n\n| arm | parameters | 1 \\| 2 |\n"))
      << table;
  EXPECT_TRUE(holds(table, "| x \\| \\`y\\` &lt;script>, \"q\" | – | 0/1 |\n")) << table;
  EXPECT_TRUE(holds(table, "| \\[l](http://x) \\* | – | 0/1 |\n")) << table;
  EXPECT_TRUE(holds(table, "| c | s \\| &lt;b> (p \\|) | **not measured** |")) << table;
  EXPECT_TRUE(holds(table_csv(hostile, results), "\na,\"x | `y`\n<script>, \"\"q\"\"\",0,m,"))
      << table_csv(hostile, results);
}

constexpr const char* kTimes =
    "base: base.yaml\nseeds: [1, 2]\narms: {a: {}, b: {set: [model.position.kind=none]}}\n"
    "measures: {t: {quantity: tokens_per_second, targets: 9}}\n"
    "claims: [{id: c, statement: s, source: p, kind: ratio_above, margin: 2, compare: [a b]}]\n";

TEST_F(Results, NumbersOfTimesStandWithTheTimings) {
  const Plan times = plan(kTimes);
  for (const int64_t seed : {1, 2}) {
    keep(times, {"a", seed}, "t", 30, 1);
    keep(times, {"b", seed}, "t", 10, 1);
  }
  const AblationResults results = collect(times, directory("a"));
  const Json json = Json::parse(results_json(times, results))["claims"][0];
  EXPECT_EQ(json["verdict"], "holds");
  EXPECT_TRUE(json["difference"].is_null());
  const Json timed = Json::parse(timings_json(times, results))["claims"][0];
  EXPECT_EQ(timed["id"], "c");
  EXPECT_EQ(timed["difference"], 3);
  EXPECT_EQ(timed["n"], 2);
}

}  // namespace
}  // namespace tapemeasure::testing
