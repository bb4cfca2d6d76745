// SPDX-License-Identifier: MIT
// What a model of a config costs: parameters, work, memory, disk.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/experiment.h"

namespace tapemeasure {

struct Costs {
  std::vector<std::pair<std::string, int64_t>> parts;  ///< parameters by part of the model
  int64_t parameters = 0;
  /// Training, forward and backward: products with weights and of attention. Of an encoder-decoder
  /// those for one token of a target and one of its source, both sides being model.context long.
  /// Without norms and activations, and without terms and tables of positions.
  double flops_per_token = 0;
  int64_t state_bytes = 0;       ///< weights, gradients, optimizer
  int64_t activation_bytes = 0;  ///< of one micro-batch, about
  int64_t checkpoint_bytes = 0;  ///< to a few percent
};

/// REQUIRES: model.vocabulary is set.
Costs costs_of(const Experiment& experiment);

/// "12.3 MB".
std::string bytes_text(int64_t bytes);

}  // namespace tapemeasure
