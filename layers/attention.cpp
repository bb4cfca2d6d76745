// SPDX-License-Identifier: MIT
// B batch, T tokens, S keys, D width, H heads, d head width, C = H * d.
#include "layers/attention.h"

#include <algorithm>
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
      position_(method.layer(scope / "position", projections_)),
      output_({heads_ * head_width_, model.width, model.has_bias("output")},
              linear_init(model, heads_ * head_width_, LinearUse::kResidual), scope / "output") {}

namespace {
/// Moves the last `kept` rows to the front.
void forget(KeyValueCache& cache, int64_t kept) {
  const int64_t gone = cache.length - kept;
  for (const Tensor& rows_BSC : {cache.keys_BSC, cache.values_BSC}) {
    Backend& backend = rows_BSC.backend();
    for (int64_t b = 0; kept > 0 && b < rows_BSC.shape()[0]; ++b) {
      const Tensor copy = empty(backend, {kept, rows_BSC.shape()[2]}, rows_BSC.dtype());
      backend.scale(1, rows_BSC.sequence_rows(b, gone, kept), copy);
      backend.scale(1, copy, rows_BSC.sequence_rows(b, 0, kept));
    }
  }
  cache.first += gone;
  cache.length = kept;
}

/// Room for `rows` more, of which the first sees `window` tokens back, itself included.
void make_room(KeyValueCache& cache, int64_t rows, int64_t window) {
  const int64_t capacity = cache.keys_BSC.shape()[1];
  if (window > 0 && cache.length + rows > capacity && cache.length >= window) {
    forget(cache, window - 1);
  }
  check<ShapeError>(cache.length + rows <= capacity, "a cache of {} rows cannot take {} after {}",
                    capacity, rows, cache.length);
}

/// `x` turned by the positions of its rows.
HeadColumns turned(Run& run, const HeadColumns& x, Backend::Rotation how, int64_t first_position,
                   int64_t heads, int64_t width) {
  how.first_row = first_position;
  how.rows = x.rows;
  how.heads = heads;
  how.width = width;
  return rotate(run, x, how);
}
}  // namespace

Projections::Heads AttentionLayer::cached_heads(Run& run, const Variable& x_BTD, const Span& span,
                                                KeyValueCache& cache) const {
  const int64_t batch = x_BTD.shape()[0], rows = x_BTD.shape()[1];
  const int64_t capacity = cache.keys_BSC.shape()[1];
  const auto rotation = position_->rotation(span);
  const auto project = [&](Projections::Part part) {
    const HeadColumns x{projections_(run, x_BTD, part), rows, 0};
    if (!rotation || part == Projections::kValue) return x;
    return turned(run, x, *rotation, span.first_query, heads_, head_width_);
  };
  const auto append = [&](Projections::Part part, const Tensor& cache_BSC) {
    const Tensor fresh_BTC = project(part).matrix.value();
    for (int64_t b = 0; b < batch; ++b) {
      fresh_BTC.backend().scale(1, fresh_BTC.sequence_rows(b, 0, rows),
                                cache_BSC.sequence_rows(b, cache.length, rows));
    }
    return HeadColumns{Variable(cache_BSC), capacity, 0};
  };
  return {project(Projections::kQuery), append(Projections::kKey, cache.keys_BSC),
          append(Projections::kValue, cache.values_BSC)};
}

Projections::Heads AttentionLayer::cross_heads(Run& run, const Variable& x_BTD,
                                               const Source& source) const {
  if (!source.cache) return projections_(run, x_BTD, source.rows_BSD);
  const auto kept = [&](Projections::Part part, Tensor& rows_BSC) {
    if (!rows_BSC.defined()) rows_BSC = projections_(run, source.rows_BSD, part).value();
    return HeadColumns{Variable(rows_BSC), rows_BSC.shape()[1], 0};
  };
  return {{projections_(run, x_BTD, Projections::kQuery), x_BTD.shape()[1], 0},
          kept(Projections::kKey, source.cache->keys_BSC),
          kept(Projections::kValue, source.cache->values_BSC)};
}

Projections::Heads AttentionLayer::heads(Run& run, const Variable& x_BTD, const Source& source,
                                         const Span& span) const {
  if (source.cross) return cross_heads(run, x_BTD, source);
  if (source.cache) return cached_heads(run, x_BTD, span, *source.cache);
  const bool own = !source.rows_BSD.defined();
  Projections::Heads heads =
      own ? projections_(run, x_BTD) : projections_(run, x_BTD, source.rows_BSD);
  const auto rotation = position_->rotation(span);
  if (!rotation) return heads;
  const int64_t columns = heads_ * head_width_;
  if (own && heads.k.first_column == heads.q.first_column + columns) {
    // Queries and keys lie side by side: they turn together, as twice the heads.
    heads.q = turned(run, heads.q, *rotation, span.first_query, 2 * heads_, head_width_);
    heads.k = {heads.q.matrix, heads.q.rows, columns};
    return heads;
  }
  heads.q = turned(run, heads.q, *rotation, span.first_query, heads_, head_width_);
  heads.k = turned(run, heads.k, *rotation, span.first_key, heads_, head_width_);
  return heads;
}

namespace {
/// The positions of the queries x and of their keys.
Span span_of(const Variable& x_BTD, const Source& source) {
  Span span{.queries = x_BTD.shape()[1],
            .causal = source.mask.causal && !source.mask.prefix.defined(),
            .backend = &x_BTD.value().backend(),
            .dtype = x_BTD.value().dtype()};
  if (source.cross) {
    span.keys = source.rows_BSD.shape()[1];
    return span;
  }
  int64_t past = 0;
  if (source.cache) {
    past = source.cache->length;
    span.first_key = source.cache->first;
  }
  if (source.rows_BSD.defined()) past = source.rows_BSD.shape()[1] - span.queries;
  span.keys = past + span.queries;
  span.first_query = span.first_key + past;
  return span;
}

/// The columns of the keys that are there.
Tensor documents_of(const Tensor& documents_BS, const Span& span) {
  if (!documents_BS.defined() || (span.first_key == 0 && documents_BS.shape()[1] == span.keys)) {
    return documents_BS;
  }
  const int64_t batch = documents_BS.shape()[0], positions = documents_BS.shape()[1];
  const Tensor columns = empty(documents_BS.backend(), {batch, span.keys}, DType::kI32);
  for (int64_t b = 0; b < batch; ++b) {
    std::copy_n(documents_BS.data<int32_t>() + b * positions + span.first_key, span.keys,
                columns.data<int32_t>() + b * span.keys);
  }
  return columns;
}
}  // namespace

Variable AttentionLayer::operator()(Run& run, const Variable& x_BTD, const Source& source) const {
  const int64_t rows = x_BTD.shape()[1];
  KeyValueCache* grows = source.cross ? nullptr : source.cache;
  if (grows) make_room(*grows, rows, source.mask.window);
  const Span span = span_of(x_BTD, source);
  AttentionMask mask = source.mask;
  mask.documents = documents_of(mask.documents, span);
  const Projections::Heads qkv = heads(run, x_BTD, source, span);
  AttentionTerms terms = position_->terms(run, span, grows ? &grows->tables : nullptr);
  terms.scale *= scale_;
  const AttentionShape shape{.batch = x_BTD.shape()[0],
                             .heads = heads_,
                             .width = head_width_,
                             .queries = rows,
                             .keys = span.keys,
                             .first_query = span.first_query,
                             .first_key = span.first_key};
  const Variable mixed_BTC =
      attention(run, shape, qkv.q, qkv.k, qkv.v, mask, terms, run.dropout(dropout_, site_));
  if (grows) grows->length += rows;
  return output_(run, mixed_BTC);
}

}  // namespace tapemeasure
