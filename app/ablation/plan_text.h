// SPDX-License-Identifier: MIT
// What an ablation would do, before it does it.
#pragma once

#include <string>

#include "app/ablation/directory.h"
#include "app/ablation/plan.h"

namespace tapemeasure {

/// Cells and how far they are, arms with what differs from the base, measures, and what all of it
/// costs with `jobs` cells at once: steps, tokens, memory, and time where a run of the directory
/// tells how fast cells are.
std::string plan_text(const Plan& plan, const AblationDirectory& directory, int64_t jobs);

}  // namespace tapemeasure
