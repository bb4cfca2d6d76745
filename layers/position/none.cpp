// SPDX-License-Identifier: MIT
// No positions (Haviv et al. 2022, "Transformer language models without positional encodings still
// learn positional information").
#include "layers/position/method.h"

namespace tapemeasure {

namespace {
class NoneOptions : public PositionOptions {
 public:
  std::unique_ptr<PositionMethod> build(const ModelOptions&, const Scope&) const override {
    return std::make_unique<PositionMethod>();
  }
};
}  // namespace

std::unique_ptr<PositionOptions> make_none_position() { return std::make_unique<NoneOptions>(); }

}  // namespace tapemeasure
