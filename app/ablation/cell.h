// SPDX-License-Identifier: MIT
// Brings one cell to its end: trains it, or goes on where it was cut, then measures what is not
// measured yet. Runs in a process of its own, so that nothing it does reaches another cell.
#pragma once

#include <cstdint>
#include <string>

#include "app/ablation/directory.h"
#include "app/ablation/plan.h"

namespace tapemeasure {

struct CellOptions {
  std::string cache;
  int64_t threads = 1;  ///< where the plan does not say
};

/// Throws ConfigError, naming the key, when the run that is there was made with another config.
void check_run(const Plan& plan, const AblationDirectory& directory, const Cell& cell);

/// Returns the exit code: 0 when the cell is finished, 128 + signal when it was stopped and saved.
/// Other failures are thrown, after they were kept in the directory.
int run_cell(const Plan& plan, const AblationDirectory& directory, const Cell& cell,
             const CellOptions& options);

}  // namespace tapemeasure
