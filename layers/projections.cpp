// SPDX-License-Identifier: MIT
#include "layers/projections.h"

#include "layers/initialisation.h"

namespace tapemeasure {

Projections::Projections(const ModelOptions& model, const Scope& scope)
    : columns_(model.heads * model.the_head_width()) {
  constexpr std::array<const char*, 3> kNames = {"query", "key", "value"};
  for (int part = 0; part < 3; ++part) {
    weights_[part] =
        &(scope / kNames[part])
             .parameter("weight", {columns_, model.width},
                        linear_init(model, model.width,
                                    part == kQuery ? LinearUse::kQuery : LinearUse::kInner),
                        Role::kLinear, part > 0);
  }
  for (int part = 0; part < 3; ++part) {
    same_bias_ = same_bias_ && model.has_bias(kNames[part]) == model.has_bias(kNames[0]);
  }
  for (int part = 0; part < 3; ++part) {
    if (!model.has_bias(kNames[part])) continue;
    biases_[part] =
        &(scope / kNames[part])
             .parameter("bias", {columns_}, Init::zeros(), Role::kBias, same_bias_ && part > 0);
  }
}

Variable Projections::operator()(Run& run, const Variable& x, Part part) const {
  return linear(run, x, run.tape.leaf(*weights_[part]),
                biases_[part] ? run.tape.leaf(*biases_[part]) : Variable());
}

Projections::Heads Projections::operator()(Run& run, const Variable& x_BTD) const {
  const int64_t rows = x_BTD.shape()[1];
  if (!same_bias_) {
    return {{(*this)(run, x_BTD, kQuery), rows, 0},
            {(*this)(run, x_BTD, kKey), rows, 0},
            {(*this)(run, x_BTD, kValue), rows, 0}};
  }
  const Variable qkv = linear(run, x_BTD, run.tape.leaf(*weights_[0], 3),
                              biases_[0] ? run.tape.leaf(*biases_[0], 3) : Variable());
  return {{qkv, rows, 0}, {qkv, rows, columns_}, {qkv, rows, 2 * columns_}};
}

Projections::Heads Projections::operator()(Run& run, const Variable& query_BTD,
                                           const Variable& source_BSD) const {
  const HeadColumns q{(*this)(run, query_BTD, kQuery), query_BTD.shape()[1], 0};
  const int64_t rows = source_BSD.shape()[1];
  if (!same_bias_) {
    return {
        q, {(*this)(run, source_BSD, kKey), rows, 0}, {(*this)(run, source_BSD, kValue), rows, 0}};
  }
  const Variable kv = linear(run, source_BSD, run.tape.leaf(*weights_[kKey], 2),
                             biases_[kKey] ? run.tape.leaf(*biases_[kKey], 2) : Variable());
  return {q, {kv, rows, 0}, {kv, rows, columns_}};
}

}  // namespace tapemeasure
