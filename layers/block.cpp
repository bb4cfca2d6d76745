// SPDX-License-Identifier: MIT
#include "layers/block.h"

namespace tapemeasure {

Block::Block(const ModelOptions& model, const PositionMethod& method, const Scope& scope)
    : norm_position_(model.norm_position),
      dropout_(model.dropout),
      attention_site_(hash_text((scope / "attention_output").path())),
      feedforward_site_(hash_text((scope / "feedforward_output").path())),
      attention_(model, method, scope / "attention"),
      attention_norm_(model, scope / "attention_norm"),
      feedforward_(model, scope / "feedforward"),
      feedforward_norm_(model, scope / "feedforward_norm") {}

Variable Block::operator()(Run& run, const Variable& x_BTD, KeyValueCache* cache) const {
  const auto drop = [&](uint64_t site) { return run.dropout(dropout_, site); };
  if (norm_position_ == NormPosition::kPre) {
    const Variable mixed = attention_(run, attention_norm_(run, x_BTD), cache);
    const Variable h_BTD = residual(run, x_BTD, mixed, drop(attention_site_));
    const Variable fed = feedforward_(run, feedforward_norm_(run, h_BTD));
    return residual(run, h_BTD, fed, drop(feedforward_site_));
  }
  const Variable mixed = attention_(run, x_BTD, cache);
  const Variable h_BTD = attention_norm_(run, residual(run, x_BTD, mixed, drop(attention_site_)));
  const Variable fed = feedforward_(run, h_BTD);
  return feedforward_norm_(run, residual(run, h_BTD, fed, drop(feedforward_site_)));
}

}  // namespace tapemeasure
