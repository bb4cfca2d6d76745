// SPDX-License-Identifier: MIT
// How near a training step is to what its matrix products alone would take.
#pragma once

#include <cstdint>
#include <vector>

#include "app/experiment.h"
#include "core/trace.h"
#include "data/corpus.h"

namespace tapemeasure {

/// One shape and form of the products of a step.
struct ProductRate {
  Product product;
  int64_t calls = 0;   ///< in one step
  double seconds = 0;  ///< of one call, the median
  double rate() const { return product.operations() / seconds; }
};

struct StepRates {
  double step = 0;          ///< seconds of a whole step, the median: batch to update
  double products = 0;      ///< seconds of its products alone, the same calls in the same order
  double operations = 0;    ///< of the products of a step
  int64_t tokens = 0;       ///< of a step
  int64_t peak_memory = 0;  ///< bytes, the most that the process had resident
  std::vector<ProductRate> shapes;  ///< the heaviest first

  double ratio() const { return step / products; }
  double tokens_per_second() const { return static_cast<double>(tokens) / step; }
};

/// Trains a fresh model for a while, `seconds` or a few steps, whichever is longer: whole steps and
/// their products alone by turns, in this process, with one library. Products of attention's blocks
/// do not count. REQUIRES: model.vocabulary is set.
StepRates measure_step(const Experiment& experiment, const Corpus& corpus, double seconds);

}  // namespace tapemeasure
