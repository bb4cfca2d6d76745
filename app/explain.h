// SPDX-License-Identifier: MIT
// What a config means and costs, before anything runs.
#pragma once

#include <string>

#include "app/experiment.h"
#include "core/config/config.h"

namespace tapemeasure {

/// The vocabulary as far as it is known before any text is read.
int64_t likely_vocabulary(const Experiment& experiment);
/// A table of every value with its origin, then costs.
std::string explain_config(const Config& config);
/// What is known of a key ("trainer.keep"), or of all keys below it ("trainer"). Throws ConfigError
/// with the nearest key when there is none.
std::string explain_key(const std::string& key);

}  // namespace tapemeasure
