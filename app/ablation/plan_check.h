// SPDX-License-Identifier: MIT
// What no single section of an ablation file can know of the others. Private to app/ablation.
#pragma once

#include "app/ablation/plan.h"

namespace tapemeasure {

/// Throws ConfigError with the place of the first thing that is wrong.
void check_plan(const Plan& plan);

}  // namespace tapemeasure
