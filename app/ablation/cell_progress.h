// SPDX-License-Identifier: MIT
// How far a run is, read from outside of its process, and what is said of it.
#pragma once

#include <cstdint>
#include <string>

#include "app/run_directory.h"

namespace tapemeasure {

struct RunProgress {
  int64_t step = 0;              ///< 0: none done yet
  double loss = 0;               ///< of that step
  double tokens_per_second = 0;  ///< mean of the last few steps
};

/// The last step that metrics.jsonl holds. Reads the end of the file alone.
RunProgress progress_of(const RunDirectory& run);

/// "k2/seed-1  step 40/200  loss 2.1034  5120 tokens/s".
std::string progress_line(const std::string& cell, const RunProgress& progress, int64_t steps);

}  // namespace tapemeasure
