// SPDX-License-Identifier: MIT
// The rows of metrics.jsonl: a JSON object a line, for each step its own numbers, and behind those
// of a step what an evaluation after it gave. Whoever reads them takes lines as they come: the last
// one may be half written.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/evaluator.h"
#include "app/learner.h"
#include "app/run_directory.h"

namespace tapemeasure {

/// The row of one step; `rate` is in tokens per second. The loss, the learning rate and the norm
/// read back to the same double; what is not finite is null.
std::string training_row(int64_t step, const StepReport& report, double rate);
std::string validation_row(int64_t step, const Evaluation& evaluation);

/// A line as JSON; null where it is no row: not an object, or without a whole number as its step.
nlohmann::ordered_json parse_row(const std::string& line);

/// Cuts metrics.jsonl behind the rows of `step`; those cut go to metrics.superseded.jsonl, and so
/// does what is no row. Throws CheckpointError where it cannot.
void cut_metrics(const RunDirectory& directory, int64_t step);

}  // namespace tapemeasure
