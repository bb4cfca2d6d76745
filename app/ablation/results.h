// SPDX-License-Identifier: MIT
// What an ablation came to: the table and the verdicts, for people, spreadsheets and programs. A
// pure function of what the directory holds, without times: an ablation that was cut and went on
// gives the same bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "app/ablation/claims.h"
#include "app/ablation/directory.h"
#include "app/ablation/plan.h"

namespace tapemeasure {

struct CellResult {
  std::string arm, measure;
  std::map<int64_t, double> values;        ///< by seed
  std::map<int64_t, std::string> missing;  ///< by seed, why: "not run yet", or how it failed
  std::string chosen;                      ///< of best_of: the measure that was chosen
};

struct AblationResults {
  std::vector<int64_t> parameters;  ///< of the plan's arms; 0: none is trained yet
  std::vector<CellResult> cells;    ///< arm by arm, measure by measure, those that are measured
  std::vector<JudgedClaim> claims;  ///< as in the plan

  /// Null where the arm is not measured so.
  const CellResult* cell(const std::string& arm, const std::string& measure) const;
};

AblationResults collect(const Plan& plan, const AblationDirectory& directory);

std::string table_markdown(const Plan& plan, const AblationResults& results);
std::string table_csv(const Plan& plan, const AblationResults& results);
std::string results_json(const Plan& plan, const AblationResults& results);
/// The values of times, which differ from one measuring to the next.
std::string timings_json(const Plan& plan, const AblationResults& results);

/// Writes table.md, table.csv, results.json and timings.json, each atomically.
void write_results(const Plan& plan, const AblationDirectory& directory);

}  // namespace tapemeasure
