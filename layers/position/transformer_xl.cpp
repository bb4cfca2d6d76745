// SPDX-License-Identifier: MIT
// Transformer-XL's relative positions (Dai et al. 2019, section 3.3): with D = i - j,
//   logit[i,j] = ((q_i + u_h) . k_j + (q_i + v_h) . (W_r R_D)_h) / sqrt(d),
// R_D the sinusoid of the distance, all sines before all cosines. W_r belongs to a layer; u and v
// to all of them, or to each. Rows are addressed by distance, so nothing is shifted: the authors'
// pad, reshape and slice is a way to say the same without a gather.
#include <algorithm>
#include <optional>

#include "core/host.h"
#include "layers/initialisation.h"
#include "layers/key_value_cache.h"
#include "layers/position/offsets.h"
#include "layers/position/sinusoid.h"

namespace tapemeasure {

namespace {

struct Biases {
  Parameter* content = nullptr;
  Parameter* position = nullptr;
};

Biases make_biases(const ModelOptions& model, const Scope& scope) {
  const Shape shape{model.heads, model.the_head_width()};
  const auto make = [&](const char* name) {
    return &scope.parameter(name, shape, Init::normal(0.02), Role::kPosition);
  };
  return {make("content_bias"), make("position_bias")};
}

/// The sinusoids of the distances that calls can see.
class DistanceTable {
 public:
  DistanceTable(int64_t width, int64_t clamp, double dropout)
      : width_(width), clamp_(clamp > 0 ? clamp : INT64_MAX), dropout_(dropout) {}

  /// The distance of row 0.
  int64_t first(const Span& span) const {
    return span.causal ? 0 : std::clamp<int64_t>(-offsets_of(span).last, -clamp_, 0);
  }
  /// The distance of the last row.
  int64_t last(const Span& span) const {
    return std::clamp<int64_t>(-offsets_of(span).first, 0, clamp_);
  }
  /// R [rows, D]. All layers and micro-batches drop the same elements, which count from the first
  /// distance: that one stays the same however much memory there is.
  Variable rows(Run& run, const Span& span) const {
    const int64_t start = first(span), count = last(span) - start + 1;
    if (!span.served_by(table_) || first_ != start || table_.shape()[0] < count) {
      first_ = start;
      const int64_t room = with_room({start, last(span)}).last - start + 1;
      const SinusoidTable sinusoid{.width = width_, .interleaved = false};
      table_ = to_tensor(*span.backend, {room, width_}, span.dtype, sinusoid.rows(start, 1, room));
    }
    const Variable used(table_.rows(0, count).reshaped({1, count, width_}));
    return dropout(run, used, mask(run)).reshaped({count, width_});
  }
  /// The row of each offset, where a call can see it.
  const OffsetMap& map(const Span& span) const {
    if (!map_ || map_first_ != first(span)) {
      map_first_ = first(span);
      map_.emplace([first = map_first_, clamp = clamp_](int64_t r) {
        return std::clamp(-r, first, clamp) - first;
      });
    }
    return (*map_)(span);
  }

 private:
  Dropout mask(const Run& run) const {
    static const uint64_t kSite = hash_text("position.distances");
    if (!run.training || dropout_ <= 0) return {};
    const auto step = static_cast<uint64_t>(run.step);
    return {dropout_, random_key(run.seed, Stream::kDropout, step, kSite), 0};
  }

  int64_t width_, clamp_;
  double dropout_;
  mutable Tensor table_;
  mutable std::optional<OffsetRows> map_;
  mutable int64_t first_ = 0, map_first_ = 0;
};

class XlLayer : public PositionLayer {
 public:
  XlLayer(const ModelOptions& model, const DistanceTable& distances, const Biases& biases,
          const Scope& scope)
      : distances_(distances),
        biases_(biases),
        relative_((scope / "relative")
                      .parameter("weight", {model.heads * model.the_head_width(), model.width},
                                 linear_init(model, model.width), Role::kPosition)) {}

  AttentionTerms terms(Run& run, const Span& span, KeptTables* kept) const override {
    AttentionTerms terms;
    terms.content_bias = run.tape.leaf(*biases_.content);
    terms.position_bias = run.tape.leaf(*biases_.position);
    terms.query_table = {kept ? kept_table(run, span, *kept) : project(run, span),
                         TableLayout::kProjected, distances_.map(span)};
    return terms;
  }

 private:
  Variable project(Run& run, const Span& span) const {
    return linear(run, distances_.rows(run, span), run.tape.leaf(relative_));
  }
  /// Rows for the tokens to come as well: each is what it would be later. Behind a prefix only the
  /// first call has keys ahead.
  Variable kept_table(Run& run, const Span& span, KeptTables& kept) const {
    const int64_t first = distances_.first(span);
    if (!kept.query_table.defined() || kept.first != first ||
        kept.query_table.shape()[0] <= distances_.last(span) - first) {
      kept.first = first;
      Span longer = span;
      longer.first_query += span.length();
      longer.keys += span.length();
      kept.query_table = project(run, longer).value();
    }
    return Variable(kept.query_table);
  }

  const DistanceTable& distances_;
  Biases biases_;
  Parameter& relative_;
};

class XlMethod : public PositionMethod {
 public:
  XlMethod(const ModelOptions& model, const DistanceTable& distances, bool tied, const Scope& scope)
      : model_(model), distances_(distances) {
    if (tied) biases_ = make_biases(model, scope);
  }
  std::unique_ptr<PositionLayer> layer(const Scope& scope, const Projections&) const override {
    const Biases biases = biases_.content ? biases_ : make_biases(model_, scope);
    return std::make_unique<XlLayer>(model_, distances_, biases, scope);
  }

 private:
  ModelOptions model_;
  DistanceTable distances_;
  Biases biases_;
};

class XlOptions : public RelativeOptions {
 public:
  void visit(Fields& f) override {
    f.boolean("tie_biases", tied_, "all layers share the two global biases u and v");
    f.integer("clamp_length", clamp_, {0, 1 << 24},
              "farther distances count as this one; 0: as they are", "tokens");
    f.real("dropout", dropout_, {0, 0.999}, "of the sinusoids");
    RelativeOptions::visit(f);
  }

  std::unique_ptr<PositionMethod> build(const ModelOptions& model,
                                        const Scope& scope) const override {
    return std::make_unique<XlMethod>(model, DistanceTable(model.width, clamp_, dropout_), tied_,
                                      scope);
  }

 private:
  bool tied_ = true;
  int64_t clamp_ = 0;
  double dropout_ = 0;
};

}  // namespace

std::unique_ptr<PositionOptions> make_transformer_xl_position() {
  return std::make_unique<XlOptions>();
}

}  // namespace tapemeasure
