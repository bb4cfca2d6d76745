// SPDX-License-Identifier: MIT
#include "layers/initialisation.h"

#include <cmath>

namespace tapemeasure {

Init linear_init(const ModelOptions& model, int64_t in, bool writes_residual) {
  if (model.initialisation == Initialisation::kScaled) {
    return Init::uniform(1 / std::sqrt(static_cast<double>(in)));
  }
  const double shrink = writes_residual ? std::sqrt(2.0 * static_cast<double>(model.layers)) : 1;
  return Init::normal(0.02 / shrink);
}

}  // namespace tapemeasure
