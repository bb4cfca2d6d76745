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

Variable Block::mix(Run& run, const Variable& x_BTD, const BlockSource& source) const {
  Source read{.cache = source.cache, .mask = source.mask};
  if (source.memory_BMD.defined()) {
    // Memory holds the stream as it was: it is normed together with x.
    const Variable memory(source.memory_BMD);
    const bool pre = norm_position_ == NormPosition::kPre;
    read.rows_BSD = concat_rows(run, pre ? attention_norm_(run, memory) : memory, x_BTD);
  }
  return attention_(run, x_BTD, read);
}

Variable Block::operator()(Run& run, const Variable& x_BTD, const BlockSource& source) const {
  const auto drop = [&](uint64_t site) { return run.dropout(dropout_, site); };
  if (norm_position_ == NormPosition::kPre) {
    const Variable mixed = mix(run, attention_norm_(run, x_BTD), source);
    const Variable h_BTD = residual(run, x_BTD, mixed, drop(attention_site_));
    const Variable fed = feedforward_(run, feedforward_norm_(run, h_BTD));
    return residual(run, h_BTD, fed, drop(feedforward_site_));
  }
  const Variable mixed = mix(run, x_BTD, source);
  const Variable h_BTD = attention_norm_(run, residual(run, x_BTD, mixed, drop(attention_site_)));
  const Variable fed = feedforward_(run, h_BTD);
  return feedforward_norm_(run, residual(run, h_BTD, fed, drop(feedforward_site_)));
}

}  // namespace tapemeasure
