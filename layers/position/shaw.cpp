// SPDX-License-Identifier: MIT
// Relative keys and values (Shaw et al. 2018, "Self-attention with relative position
// representations", equations 3 to 5): with w = clip(j - i, -k, f) + k,
//   logit[i,j] = q_i . (k_j + a^K[w]) / sqrt(d),  out[i] = sum_j p[i,j] (v_j + a^V[w]).
// Row 0 is the farthest past. The released code has one table per layer for all heads; the paper's
// text also speaks of one per head.
#include <algorithm>
#include <cmath>

#include "layers/initialisation.h"
#include "layers/position/offsets.h"

namespace tapemeasure {

namespace {

struct Tables {
  bool keys = true, values = true, per_head = false;
  int64_t past = 16, future = 16;
};

class ShawLayer : public PositionLayer {
 public:
  ShawLayer(const ModelOptions& model, const Tables& tables, const Scope& scope)
      : layout_(tables.per_head ? TableLayout::kPerHead : TableLayout::kShared),
        row_([past = tables.past, future = tables.future](int64_t r) {
          return std::clamp(r, -past, future) + past;
        }) {
    const int64_t rows = tables.past + 1 + tables.future, width = model.the_head_width();
    const Shape shape = tables.per_head ? Shape{model.heads, rows, width} : Shape{rows, width};
    const Init init = table_init(model, 0.5 / std::sqrt(double(width)));
    if (tables.keys) keys_ = &scope.parameter("key_table", shape, init, Role::kPosition);
    if (tables.values) values_ = &scope.parameter("value_table", shape, init, Role::kPosition);
  }

  AttentionTerms terms(Run& run, const Span& span, KeptTables*) const override {
    AttentionTerms terms;
    if (keys_) terms.query_table = {run.tape.leaf(*keys_), layout_, row_(span)};
    if (values_) terms.value_table = {run.tape.leaf(*values_), layout_, row_(span)};
    return terms;
  }

 private:
  TableLayout layout_;
  OffsetRows row_;
  Parameter* keys_ = nullptr;
  Parameter* values_ = nullptr;
};

class ShawMethod : public PositionMethod {
 public:
  ShawMethod(const ModelOptions& model, const Tables& tables) : model_(model), tables_(tables) {}
  std::unique_ptr<PositionLayer> layer(const Scope& scope, const Projections&) const override {
    return std::make_unique<ShawLayer>(model_, tables_, scope);
  }

 private:
  ModelOptions model_;
  Tables tables_;
};

class ShawOptions : public RelativeOptions {
 public:
  void visit(Fields& f) override {
    f.integer("max_distance", tables_.past, {0, 1 << 20},
              "keys this far back or farther share a vector", "tokens");
    f.integer("max_future", future_, {0, 1 << 20}, "max_distance", "the same for keys ahead",
              "tokens");
    f.boolean("keys", tables_.keys, "vectors on the keys");
    f.boolean("values", tables_.values, "vectors on the values");
    f.boolean("per_head", tables_.per_head, "a table per head instead of one per layer");
    RelativeOptions::visit(f);
  }

  std::unique_ptr<PositionMethod> build(const ModelOptions& model, const Scope&) const override {
    Tables tables = tables_;
    tables.future = future_.value_or(tables.past);
    return std::make_unique<ShawMethod>(model, tables);
  }

 private:
  Tables tables_;
  std::optional<int64_t> future_;
};

}  // namespace

std::unique_ptr<PositionOptions> make_shaw_position() { return std::make_unique<ShawOptions>(); }

}  // namespace tapemeasure
