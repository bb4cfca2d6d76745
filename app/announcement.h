// SPDX-License-Identifier: MIT
// What a run says of itself before its first step, so that its log tells what was trained and on
// what machine.
#pragma once

#include <string>
#include <vector>

#include "app/experiment.h"
#include "app/learner.h"

namespace tapemeasure {

/// Lines: the model, the objective, what a step takes, what decays, the machine, and the first loss
/// that a model which knows nothing has.
std::vector<std::string> announcement(const Experiment& experiment, const Corpus& corpus,
                                      const Model& model, const Optimizer& optimizer);

}  // namespace tapemeasure
