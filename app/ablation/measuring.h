// SPDX-License-Identifier: MIT
// One measure of one trained model.
#pragma once

#include "app/ablation/directory.h"
#include "app/ablation/plan.h"
#include "app/saved_model.h"

namespace tapemeasure {

/// `saved` was loaded with measure.set, `corpus` is what it was trained on. `on_valid`: on the
/// validation part as well. Throws NonFiniteError where the value, or a loss, is not finite, and
/// ConfigError where the quantity does not go with the model.
Measured measure_model(const SavedModel& saved, const Corpus& corpus, const Measure& measure,
                       bool on_valid);

}  // namespace tapemeasure
