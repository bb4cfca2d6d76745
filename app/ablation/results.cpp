// SPDX-License-Identifier: MIT
#include "app/ablation/results.h"

#include <algorithm>
#include <cmath>

#include "app/ablation/effective_context.h"
#include "app/ablation/statistics.h"
#include "app/results.h"
#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/folder.h"

namespace tapemeasure {

namespace {

/// All that is measured of the plan's cells.
class Measurements {
 public:
  Measurements(const Plan& plan, const AblationDirectory& directory) {
    for (const Measure& measure : plan.measures) {
      if (!measure.evaluated()) continue;
      for (const Arm& arm : plan.arms) {
        if (!measure.measures(arm.name)) continue;
        for (const int64_t seed : plan.seeds) {
          const Cell cell{arm.name, seed};
          if (!directory.trained(cell)) continue;
          std::string& problem = problems_[{cell.name(), measure.name}];
          auto found = directory.measured(cell, measure, &problem);
          if (!found) continue;
          check_texts(cell, *found);
          found_[{arm.name, measure.name}][seed] = std::move(*found);
        }
      }
    }
  }

  const std::map<int64_t, Measured>& of(const std::string& arm, const std::string& measure) const {
    static const std::map<int64_t, Measured> kNone;
    const auto found = found_.find({arm, measure});
    return found == found_.end() ? kNone : found->second;
  }

  /// Why what is kept of a cell is of no use, or "".
  std::string problem(const Cell& cell, const std::string& measure) const {
    const auto found = problems_.find({cell.name(), measure});
    return found == problems_.end() ? "" : found->second;
  }

  std::map<int64_t, double> values(const std::string& arm, const Measure& measure) const {
    if (measure.quantity == Quantity::kEffectiveContext) return contexts(arm, measure);
    std::map<int64_t, double> values;
    for (const auto& [seed, measured] : of(arm, measure.name)) values[seed] = measured.value;
    return values;
  }

  /// Seeds of which every member of a best_of has been measured, on the validation part too. Others
  /// have no part in the choice: a member must not win by the seeds that it lacks.
  std::vector<int64_t> whole_seeds(const std::string& arm, const Measure& measure,
                                   const std::vector<int64_t>& seeds) const {
    std::vector<int64_t> whole;
    for (const int64_t seed : seeds) {
      const auto has = [&](const std::string& name) {
        const auto found = of(arm, name).find(seed);
        return found != of(arm, name).end() && found->second.on_valid;
      };
      if (std::all_of(measure.best_of.begin(), measure.best_of.end(), has)) whole.push_back(seed);
    }
    return whole;
  }

  /// Of a best_of: the name of the one that is best on the validation part over these seeds.
  std::string best(const std::string& arm, const Measure& measure,
                   const std::vector<int64_t>& seeds) const {
    std::string best;
    double best_mean = 0;
    for (const std::string& name : measure.best_of) {
      std::vector<double> on_valid;
      for (const int64_t seed : seeds) on_valid.push_back(*of(arm, name).at(seed).on_valid);
      const double mean = more_is_better(measure.quantity) ? -mean_of(on_valid) : mean_of(on_valid);
      if (!best.empty() && mean >= best_mean) continue;
      best = name;
      best_mean = mean;
    }
    return best;
  }

 private:
  /// A text of one path is the same text in every cell: otherwise nothing here compares.
  void check_texts(const Cell& cell, const Measured& measured) {
    for (const auto& [path, sum] : measured.texts) {
      const auto& [first, first_cell] = texts_.try_emplace(path, sum, cell.name()).first->second;
      check<DataError>(
          first == sum,
          "{}: the text has changed between two cells, which therefore do not compare: "
          "{} had SHA-256 {}, {} had {}: keep this directory and name another with "
          "--out, or remove the folders in runs/ of the cells with the wrong text",
          path, first_cell, first, cell.name(), sum);
    }
  }

  std::map<int64_t, double> contexts(const std::string& arm, const Measure& measure) const {
    std::map<int64_t, double> values;
    for (const auto& [seed, measured] : of(arm, measure.name)) {
      std::vector<ContextLosses> group;
      for (const std::string& member : measure.group) {
        const auto& seeds = of(member, measure.name);
        const auto found = seeds.find(seed);
        if (found != seeds.end()) group.push_back(found->second.losses);
      }
      if (group.size() == measure.group.size())
        values[seed] = static_cast<double>(effective_context(measured.losses, group));
    }
    return values;
  }

  std::map<std::pair<std::string, std::string>, std::map<int64_t, Measured>> found_;
  std::map<std::pair<std::string, std::string>, std::string> problems_;  // by cell and measure
  std::map<std::string, std::pair<std::string, std::string>> texts_;     // by path: SHA-256, a cell
};

CellResult cell_result(const Plan& plan, const AblationDirectory& directory,
                       const Measurements& measurements, const Arm& arm, const Measure& measure) {
  CellResult result{arm.name, measure.name, {}, {}, {}};
  if (measure.evaluated()) {
    result.values = measurements.values(arm.name, measure);
  } else if (const auto whole = measurements.whole_seeds(arm.name, measure, plan.seeds);
             !whole.empty()) {
    result.chosen = measurements.best(arm.name, measure, whole);
    const std::map<int64_t, double> all =
        measurements.values(arm.name, plan.measure(result.chosen));
    for (const int64_t seed : whole) result.values[seed] = all.at(seed);
  }
  for (const int64_t seed : plan.seeds) {
    if (result.values.count(seed)) continue;
    const auto failure = directory.failure({arm.name, seed});
    const std::string problem = measurements.problem({arm.name, seed}, measure.name);
    result.missing[seed] = failure ? failure->reason : problem.empty() ? "not run yet" : problem;
  }
  return result;
}

int64_t parameters_of(const Plan& plan, const AblationDirectory& directory, const Arm& arm) {
  for (const int64_t seed : plan.seeds) {
    const Cell cell{arm.name, seed};
    if (directory.trained(cell))
      return RunResults::read(directory.run(cell).file("results.json")).parameters;
  }
  return 0;
}

}  // namespace

AblationResults collect(const Plan& plan, const AblationDirectory& directory) {
  const Measurements measurements(plan, directory);
  AblationResults results;
  Values values;
  for (const Arm& arm : plan.arms) {
    results.parameters.push_back(parameters_of(plan, directory, arm));
    for (const Measure& measure : plan.measures) {
      if (!measure.measures(arm.name)) continue;
      results.cells.push_back(cell_result(plan, directory, measurements, arm, measure));
      values[{arm.name, measure.name}] = results.cells.back().values;
    }
  }
  for (const Claim& claim : plan.claims) results.claims.push_back(judge(plan, claim, values));
  return results;
}

void write_results(const Plan& plan, const AblationDirectory& directory) {
  make_folder(directory.path());
  const AblationResults results = collect(plan, directory);
  write_atomically(directory.file("table.md"), table_markdown(plan, results));
  write_atomically(directory.file("table.csv"), table_csv(plan, results));
  write_atomically(directory.file("results.json"), results_json(plan, results));
  write_atomically(directory.file("timings.json"), timings_json(plan, results));
}

}  // namespace tapemeasure
