// SPDX-License-Identifier: MIT
#include "data/objective/objective.h"

namespace tapemeasure {

std::unique_ptr<FiniteSource> ObjectiveOptions::evaluation(const Part&, const ObjectiveSetting&,
                                                           std::optional<int64_t>) const {
  return nullptr;
}

#define OBJECTIVE(name, help) std::unique_ptr<ObjectiveOptions> make_##name##_objective();
#include "data/objective/objectives.def"
#undef OBJECTIVE

std::span<const Kind<ObjectiveOptions>> objectives() {
#define OBJECTIVE(name, help) {#name, help, make_##name##_objective},
  static const Kind<ObjectiveOptions> kObjectives[] = {
#include "data/objective/objectives.def"
  };
#undef OBJECTIVE
  return kObjectives;
}

const char* default_objective(Reader reader) {
  constexpr const char* kDefaults[] = {"causal", "masked", "span_corruption"};
  return kDefaults[static_cast<int>(reader)];
}

std::string only_for(Reader reader, Reader wanted, const char* reason) {
  return reader == wanted ? "" : reason;
}

}  // namespace tapemeasure
