// SPDX-License-Identifier: MIT
// Brings one cell to its end: trains it, or goes on where it was cut, then measures what is not
// measured yet. Runs in a process of its own, so that nothing it does reaches another cell.
#pragma once

#include <string>

#include "app/ablation/directory.h"
#include "app/ablation/plan.h"

namespace tapemeasure {

/// Returns the exit code: 0 when the cell is finished, 128 + signal when it was stopped and saved.
/// Other failures are thrown, after they were kept in the directory. Throws ConfigError when the
/// run that is there was made with another config.
int run_cell(const Plan& plan, const AblationDirectory& directory, const Cell& cell,
             const std::string& cache);

}  // namespace tapemeasure
