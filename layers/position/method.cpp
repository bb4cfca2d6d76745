// SPDX-License-Identifier: MIT
#include "layers/position/method.h"

namespace tapemeasure {

AttentionTerms PositionLayer::terms(Run&, const Span&) const { return {}; }

Variable PositionMethod::embed(Run&, const Variable& x_BTD, int64_t) const { return x_BTD; }

std::unique_ptr<PositionLayer> PositionMethod::layer(const Scope&) const {
  return std::make_unique<PositionLayer>();
}

#define POSITION_METHOD(name, help) std::unique_ptr<PositionOptions> make_##name##_position();
#include "layers/position/methods.def"
#undef POSITION_METHOD

std::span<const Kind<PositionOptions>> position_methods() {
#define POSITION_METHOD(name, help) {#name, help, make_##name##_position},
  static const Kind<PositionOptions> kMethods[] = {
#include "layers/position/methods.def"
  };
#undef POSITION_METHOD
  return kMethods;
}

}  // namespace tapemeasure
