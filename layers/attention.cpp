// SPDX-License-Identifier: MIT
// B batch, T tokens, S keys, D width, H heads, d head width.
#include "layers/attention.h"

#include <cmath>

#include "core/error.h"
#include "layers/initialisation.h"

namespace tapemeasure {

AttentionLayer::AttentionLayer(const ModelOptions& model, const PositionMethod& method,
                               const Scope& scope)
    : heads_(model.heads),
      head_width_(model.the_head_width()),
      scale_(model.attention_scale_word == "rsqrt" ? 1 / std::sqrt(double(model.the_head_width()))
                                                   : model.attention_scale),
      dropout_(model.the_attention_dropout()),
      site_(hash_text(scope.path())),
      projections_(model, scope),
      position_(method.layer(scope / "position")),
      output_({heads_ * head_width_, model.width, model.has_bias("output")},
              linear_init(model, heads_ * head_width_, true), scope / "output") {
  mask_.window = model.window;
}

Projections::Heads AttentionLayer::cached_heads(Run& run, const Variable& x_BTD,
                                                KeyValueCache& cache) const {
  const int64_t batch = x_BTD.shape()[0], rows = x_BTD.shape()[1];
  const int64_t capacity = cache.keys_BSC.shape()[1];
  check<ShapeError>(cache.length + rows <= capacity, "a cache of {} rows cannot take {} after {}",
                    capacity, rows, cache.length);
  const auto append = [&](Projections::Part part, const Tensor& cache_BSC) {
    const Tensor fresh_BTC = projections_(run, x_BTD, part).value();
    for (int64_t b = 0; b < batch; ++b) {
      const Tensor to = cache_BSC.rows(b, 1).reshaped({capacity, cache_BSC.shape()[2]});
      const Tensor from = fresh_BTC.rows(b, 1).reshaped({rows, cache_BSC.shape()[2]});
      fresh_BTC.backend().scale(1, from, to.rows(cache.length, rows));
    }
    return HeadColumns{Variable(cache_BSC), capacity, 0};
  };
  const HeadColumns q{projections_(run, x_BTD, Projections::kQuery), rows, 0};
  return {q, append(Projections::kKey, cache.keys_BSC),
          append(Projections::kValue, cache.values_BSC)};
}

Variable AttentionLayer::operator()(Run& run, const Variable& x_BTD, KeyValueCache* cache) const {
  const int64_t batch = x_BTD.shape()[0], rows = x_BTD.shape()[1];
  const int64_t past = cache ? cache->length : 0;
  const Projections::Heads heads =
      cache ? cached_heads(run, x_BTD, *cache) : projections_(run, x_BTD);
  const Span span{.queries = rows, .keys = past + rows, .first_query = past, .first_key = 0};
  AttentionTerms terms = position_->terms(run, span);
  terms.scale *= scale_;
  const AttentionShape shape{.batch = batch,
                             .heads = heads_,
                             .width = head_width_,
                             .queries = rows,
                             .keys = span.keys,
                             .first_query = span.first_query,
                             .first_key = span.first_key};
  const Variable mixed_BTC =
      attention(run, shape, heads.q, heads.k, heads.v, mask_, terms, run.dropout(dropout_, site_));
  if (cache) cache->length += rows;
  return output_(run, mixed_BTC);
}

}  // namespace tapemeasure
