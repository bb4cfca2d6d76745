// SPDX-License-Identifier: MIT
#include "layers/initialisation.h"

#include <cmath>

namespace tapemeasure {

namespace {
constexpr double kSmall = 0.02;
}  // namespace

Init linear_init(const ModelOptions& model, int64_t in, LinearUse use) {
  const double fan_in = 1 / std::sqrt(static_cast<double>(in));
  switch (model.initialisation) {
    case Initialisation::kScaled:
      return Init::uniform(fan_in);
    case Initialisation::kGpt2:
      return Init::normal(use == LinearUse::kResidual
                              ? kSmall / std::sqrt(2.0 * static_cast<double>(model.layers))
                              : kSmall);
    case Initialisation::kT5: {
      const bool unscaled = use == LinearUse::kQuery && model.attention_scale_word.empty();
      return Init::normal(unscaled ? fan_in / std::sqrt(static_cast<double>(model.the_head_width()))
                                   : fan_in);
    }
    case Initialisation::kTransformerXl:
      break;
  }
  return Init::normal(kSmall);
}

Init gain_init(const ModelOptions& model) {
  const bool random = model.initialisation == Initialisation::kTransformerXl;
  return random ? Init::normal(kSmall, 1) : Init::ones();
}

Init table_init(const ModelOptions& model, double scaled) {
  const bool small = model.initialisation == Initialisation::kGpt2 ||
                     model.initialisation == Initialisation::kTransformerXl;
  return Init::normal(small ? kSmall : scaled);
}

}  // namespace tapemeasure
