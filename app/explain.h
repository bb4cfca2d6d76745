// SPDX-License-Identifier: MIT
// What a config means and costs, before anything runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/experiment.h"

namespace tapemeasure {

struct Costs {
  std::vector<std::pair<std::string, int64_t>> parts;  ///< parameters by part of the model
  int64_t parameters = 0;
  double flops_per_token = 0;    ///< training: forward and backward
  int64_t state_bytes = 0;       ///< weights, gradients, optimizer
  int64_t activation_bytes = 0;  ///< of one micro-batch, about
  int64_t checkpoint_bytes = 0;  ///< to a few percent
};

/// REQUIRES: model.vocabulary is set.
Costs costs_of(const Experiment& experiment);

/// The vocabulary as far as it is known before any text is read.
int64_t likely_vocabulary(const Experiment& experiment);

/// "12.3 MB".
std::string bytes_text(int64_t bytes);

/// A table of every value with its origin, then costs.
std::string explain_config(const Config& config);
/// What is known of a key ("trainer.keep"), or of all keys below it ("trainer"). Throws ConfigError
/// with the nearest key when there is none.
std::string explain_key(const std::string& key);

}  // namespace tapemeasure
