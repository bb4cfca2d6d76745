// SPDX-License-Identifier: MIT
#include "layers/position/method.h"

namespace tapemeasure {

AttentionTerms PositionLayer::terms(Run&, const Span&, KeptTables*) const { return {}; }

std::optional<Backend::Rotation> PositionLayer::rotation(const Span&) const { return std::nullopt; }

Variable PositionMethod::embed(Run&, const Variable& x_BTD, int64_t) const { return x_BTD; }

std::unique_ptr<PositionLayer> PositionMethod::layer(const Scope&, const Projections&) const {
  return std::make_unique<PositionLayer>();
}

int64_t PositionMethod::version(int64_t) const { return 0; }

std::unique_ptr<PositionMethod> PositionOptions::build_absolute(const ModelOptions&,
                                                                const Scope&) const {
  return nullptr;
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

namespace {
enum Absolute { kNone, kLearned, kSinusoidal };
}  // namespace

void RelativeOptions::visit(Fields& f) {
  static const char* const kAbsolute[] = {"none", "learned", "sinusoidal"};
  f.choice("absolute", absolute_, kAbsolute, "absolute positions added to the embeddings as well");
}

std::string RelativeOptions::refuses_memory() const {
  if (absolute_ == kNone) return "";
  return absolute_memory_conflict(absolute_ == kLearned ? "learned" : "sinusoidal");
}

bool RelativeOptions::adds_to_embeddings() const { return absolute_ != kNone; }

std::unique_ptr<PositionMethod> RelativeOptions::build_absolute(const ModelOptions& model,
                                                                const Scope& scope) const {
  if (absolute_ == kNone) return nullptr;
  const auto options = absolute_ == kLearned ? make_learned_position() : make_sinusoidal_position();
  return options->build(model, scope / "absolute");
}

std::string absolute_memory_conflict(const std::string& method) {
  return method +
         " positions number every segment from 0 again, so remembered tokens and new ones would "
         "stand at the same positions";
}

}  // namespace tapemeasure
