// SPDX-License-Identifier: MIT
// DeBERTa's disentangled attention (He et al. 2021, equation 4): with a table P [2k, D] that all
// layers share, K^r = P W_kr, Q^r = P W_qr and d(i,j) = clamp(i - j + k, 0, 2k - 1),
//   logit[i,j] = (q_i . k_j + q_i . K^r[d(i,j)] + k_j . Q^r[d(i,j)]) / sqrt(head width * terms).
// The paper prints d(j,i) in the last term; the authors' code (and every released model) takes
// d(i,j), which is `p2c_index: official`. Version 2 puts i - j into logarithmic buckets first,
// norms P, and uses the layer's own query and key projections.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "layers/initialisation.h"
#include "layers/key_value_cache.h"
#include "layers/norm.h"
#include "layers/position/buckets.h"
#include "layers/position/offsets.h"
#include "layers/projections.h"

namespace tapemeasure {

namespace {

struct DebertaKeys {
  std::optional<int64_t> max_distance;
  int64_t buckets = 0;
  bool content_to_position = true, position_to_content = true;
  bool share_projections = false, normalize_table = false, clamp_distance = false;
  int p2c_index = 0;  // official, paper
  double dropout = 0;

  int terms() const { return 1 + content_to_position + position_to_content; }
  int64_t farthest(const ModelOptions& model) const { return max_distance.value_or(model.context); }
  /// k.
  int64_t span(const ModelOptions& model) const { return buckets > 0 ? buckets : farthest(model); }
};

/// The row of a distance i - j.
std::function<int64_t(int64_t)> row_of_distance(const DebertaKeys& keys,
                                                const ModelOptions& model) {
  const int64_t k = keys.span(model), limit = keys.farthest(model) - 1;
  if (keys.buckets == 0) {
    return [k](int64_t distance) { return std::clamp<int64_t>(distance + k, 0, 2 * k - 1); };
  }
  return [k, limit, clamped = keys.clamp_distance,
          bucket = LogBuckets(keys.buckets, keys.farthest(model))](int64_t distance) {
    if (clamped) distance = std::clamp(distance, -limit, limit);
    return std::clamp<int64_t>(bucket(distance) + k, 0, 2 * k - 1);
  };
}

/// What a model's layers share.
struct Shared {
  Shared(const ModelOptions& the_model, const DebertaKeys& the_keys, const Scope& scope)
      : model(the_model),
        keys(the_keys),
        table(scope.parameter("table", {2 * keys.span(model), model.width},
                              table_init(model, 0.45 / std::sqrt(double(model.width))),
                              Role::kPosition)),
        by_query([row = row_of_distance(keys, model)](int64_t r) { return row(-r); }),
        by_key([row = row_of_distance(keys, model), paper = keys.p2c_index == 1](int64_t r) {
          return row(paper ? r : -r);
        }) {
    if (!keys.normalize_table) return;
    ModelOptions layernorm = model;
    layernorm.norm = Norm::kLayerNorm;
    norm.emplace(layernorm, scope / "norm");
  }

  ModelOptions model;
  DebertaKeys keys;
  Parameter& table;
  std::optional<NormLayer> norm;
  OffsetRows by_query, by_key;
};

class DebertaLayer : public PositionLayer {
 public:
  DebertaLayer(const Shared& shared, const Projections& projections, const Scope& scope)
      : shared_(shared), projections_(projections), site_(hash_text(scope.path())) {
    if (shared.keys.share_projections) return;
    if (shared.keys.content_to_position) key_ = make("key", scope);
    if (shared.keys.position_to_content) query_ = make("query", scope);
  }

  AttentionTerms terms(Run& run, const Span& span, KeptTables* kept) const override {
    AttentionTerms terms;
    if (shared_.model.attention_scale_word == "rsqrt") {
      terms.scale = 1 / std::sqrt(static_cast<double>(shared_.keys.terms()));
    }
    if (shared_.keys.terms() == 1) return terms;
    KeptTables made;
    Variable key_rows, query_rows;
    if (kept && (kept->query_table.defined() || kept->key_table.defined())) {
      key_rows = Variable(kept->query_table);
      query_rows = Variable(kept->key_table);
    } else {
      const Variable table = dropped_table(run);
      if (shared_.keys.content_to_position) key_rows = project(run, table, Projections::kKey);
      if (shared_.keys.position_to_content) query_rows = project(run, table, Projections::kQuery);
      if (kept) *kept = {key_rows.value(), query_rows.value()};
    }
    if (shared_.keys.content_to_position) {
      terms.query_table = {key_rows, TableLayout::kProjected, shared_.by_query(span)};
    }
    if (shared_.keys.position_to_content) {
      terms.key_table = {query_rows, TableLayout::kProjected, shared_.by_key(span)};
    }
    return terms;
  }

 private:
  struct Own {
    Parameter* weight = nullptr;
    Parameter* bias = nullptr;
  };
  Own make(const char* name, const Scope& scope) const {
    const ModelOptions& model = shared_.model;
    const int64_t columns = model.heads * model.the_head_width();
    const Scope own = scope / name;
    return {&own.parameter("weight", {columns, model.width}, linear_init(model, model.width),
                           Role::kPosition),
            model.has_bias(name) ? &own.parameter("bias", {columns}, Init::zeros(), Role::kBias)
                                 : nullptr};
  }

  /// P, normed and dropped: alike in all micro-batches, differently in each layer.
  Variable dropped_table(Run& run) const {
    Variable table = run.tape.leaf(shared_.table);
    if (shared_.norm) table = (*shared_.norm)(run, table);
    Dropout how = run.dropout(shared_.keys.dropout, site_);
    how.first_sequence = 0;
    const Shape shape = table.shape();
    return dropout(run, table.reshaped({1, shape[0], shape[1]}), how).reshaped(shape);
  }
  Variable project(Run& run, const Variable& table, Projections::Part part) const {
    if (shared_.keys.share_projections) return projections_(run, table, part);
    const Own& own = part == Projections::kKey ? key_ : query_;
    return linear(run, table, run.tape.leaf(*own.weight),
                  own.bias ? run.tape.leaf(*own.bias) : Variable());
  }

  const Shared& shared_;
  const Projections& projections_;
  uint64_t site_;
  Own key_, query_;
};

class DebertaMethod : public PositionMethod {
 public:
  DebertaMethod(const ModelOptions& model, const DebertaKeys& keys, const Scope& scope)
      : shared_(model, keys, scope) {}
  std::unique_ptr<PositionLayer> layer(const Scope& scope,
                                       const Projections& projections) const override {
    return std::make_unique<DebertaLayer>(shared_, projections, scope);
  }

 private:
  Shared shared_;
};

class DebertaOptions : public RelativeOptions {
 public:
  void visit(Fields& f) override {
    static const char* const kIndices[] = {"official", "paper"};
    f.integer("max_distance", keys_.max_distance, {1, 1 << 24}, "model.context",
              "farther distances share a vector", "tokens");
    f.integer("buckets", keys_.buckets, {0, 1 << 12},
              "logarithmic buckets each way; 0: a vector per distance");
    f.boolean("content_to_position", keys_.content_to_position, "queries look at positions");
    f.boolean("position_to_content", keys_.position_to_content, "positions look at keys");
    f.boolean("share_projections", keys_.share_projections,
              "positions take the layer's own query and key projections");
    f.boolean("normalize_table", keys_.normalize_table, "a layernorm on the table");
    f.choice("p2c_index", keys_.p2c_index, kIndices,
             "row of the second term: i - j as the authors' code, or j - i as printed");
    f.boolean("clamp_distance", keys_.clamp_distance,
              "with buckets: distances beyond max_distance - 1 count as that one");
    f.real("dropout", keys_.dropout, {0, 0.999}, "of the table, in every layer anew");
    RelativeOptions::visit(f);
  }

  void validate(const ModelOptions& model) const override {
    const int64_t farthest = keys_.farthest(model);
    check<ConfigError>(keys_.buckets != 1, "position.buckets 1 are too few: use 0 or 2 and more");
    check<ConfigError>(keys_.buckets == 0 || farthest > keys_.buckets / 2 + 1,
                       "position.max_distance {} is not above {}: half of the {} buckets hold one "
                       "distance each, the others need some",
                       farthest, keys_.buckets / 2 + 1, keys_.buckets);
    check<ConfigError>(keys_.buckets > 0 || !keys_.clamp_distance,
                       "position.clamp_distance needs position.buckets: without them distances "
                       "are clamped anyway");
  }

  std::unique_ptr<PositionMethod> build(const ModelOptions& model,
                                        const Scope& scope) const override {
    return std::make_unique<DebertaMethod>(model, keys_, scope);
  }

 private:
  DebertaKeys keys_;
};

}  // namespace

std::unique_ptr<PositionOptions> make_deberta_position() {
  return std::make_unique<DebertaOptions>();
}

}  // namespace tapemeasure
