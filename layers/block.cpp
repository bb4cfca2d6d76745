// SPDX-License-Identifier: MIT
#include "layers/block.h"

namespace tapemeasure {

Block::Block(const ModelOptions& model, const PositionMethod& method, bool crosses,
             const Scope& scope)
    : norm_position_(model.norm_position),
      dropout_(model.dropout),
      attention_site_(hash_text((scope / "attention_output").path())),
      cross_site_(hash_text((scope / "cross_output").path())),
      feedforward_site_(hash_text((scope / "feedforward_output").path())),
      attention_(model, method, scope / "attention"),
      attention_norm_(model, scope / "attention_norm"),
      feedforward_(model, scope / "feedforward"),
      feedforward_norm_(model, scope / "feedforward_norm") {
  if (!crosses) return;
  cross_.emplace(model, PositionMethod(), scope / "cross");
  cross_norm_.emplace(model, scope / "cross_norm");
}

Variable Block::mix(Run& run, const Variable& x_BTD, const BlockSource& source) const {
  Source read{.cache = source.cache, .mask = source.mask};
  // Both hold the stream as it was: they are normed as x is.
  const auto normed = [&](const Variable& rows) {
    return norm_position_ == NormPosition::kPre ? attention_norm_(run, rows) : rows;
  };
  if (source.rows_BSD.defined()) read.rows_BSD = normed(source.rows_BSD);
  if (source.memory_BMD.defined()) {
    read.rows_BSD = concat_rows(run, normed(Variable(source.memory_BMD)), x_BTD);
  }
  return attention_(run, x_BTD, read);
}

Variable Block::mix_across(Run& run, const Variable& x_BTD, const BlockSource& source) const {
  return (*cross_)(run, x_BTD,
                   {.rows_BSD = source.encoded_BSD,
                    .cross = true,
                    .cache = source.cross_cache,
                    .mask = {.causal = false, .key_end = source.encoded_end}});
}

template <class F>
Variable Block::branch(Run& run, const Variable& x_BTD, const NormLayer& norm, uint64_t site,
                       F f) const {
  const Dropout drop = run.dropout(dropout_, site);
  if (norm_position_ == NormPosition::kPre) {
    return residual(run, x_BTD, f(norm(run, x_BTD)), drop);
  }
  return norm(run, residual(run, x_BTD, f(x_BTD), drop));
}

Variable Block::operator()(Run& run, const Variable& x_BTD, const BlockSource& source) const {
  Variable y_BTD = branch(run, x_BTD, attention_norm_, attention_site_,
                          [&](const Variable& x) { return mix(run, x, source); });
  if (cross_) {
    y_BTD = branch(run, y_BTD, *cross_norm_, cross_site_,
                   [&](const Variable& x) { return mix_across(run, x, source); });
  }
  return branch(run, y_BTD, feedforward_norm_, feedforward_site_,
                [&](const Variable& x) { return feedforward_(run, x); });
}

}  // namespace tapemeasure
