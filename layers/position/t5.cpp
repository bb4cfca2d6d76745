// SPDX-License-Identifier: MIT
// T5's relative bias (Raffel et al. 2020, section 2.1, as released): bias_h[b(j - i)], a number per
// head and bucket of distances, not scaled; one table for all layers, or one for each. Which
// buckets there are follows from the mask: with a causal one all of them are for the past. Either
// stack of an encoder-decoder has tables of its own; attention across has none.
#include <algorithm>

#include "core/error.h"
#include "core/host.h"
#include "layers/options.h"
#include "layers/position/buckets.h"
#include "layers/position/offsets.h"

namespace tapemeasure {

namespace {

struct T5Shape {
  int64_t buckets = 32, max_distance = 128, heads = 1;
};

/// Buckets by offset, for either kind of mask; made at the first call that needs them.
class BucketMaps {
 public:
  explicit BucketMaps(const T5Shape& shape) : shape_(shape) {}

  const OffsetMap& operator()(const Span& span) const {
    std::optional<OffsetRows>& map = maps_[span.causal];
    if (!map) map.emplace(T5Buckets(shape_.buckets, shape_.max_distance, span.causal));
    return (*map)(span);
  }

 private:
  T5Shape shape_;
  mutable std::optional<OffsetRows> maps_[2];
};

class T5Layer : public PositionLayer {
 public:
  T5Layer(const T5Shape& shape, const BucketMaps& maps, Parameter& table)
      : heads_(shape.heads), maps_(maps), table_(table) {}

  AttentionTerms terms(Run& run, const Span& span, KeptTables*) const override {
    AttentionTerms terms;
    terms.bias_map = maps_(span);
    // The table is [buckets, H], the term [H, buckets]: I table^T.
    terms.bias = linear(run, Variable(identity(span)), run.tape.leaf(table_));
    return terms;
  }

 private:
  const Tensor& identity(const Span& span) const {
    if (!span.served_by(identity_)) {
      std::vector<double> values(static_cast<size_t>(heads_ * heads_), 0);
      for (int64_t h = 0; h < heads_; ++h) values[static_cast<size_t>(h * heads_ + h)] = 1;
      identity_ = to_tensor(*span.backend, {heads_, heads_}, span.dtype, values);
    }
    return identity_;
  }

  int64_t heads_;
  const BucketMaps& maps_;
  Parameter& table_;
  mutable Tensor identity_;
};

class T5Method : public PositionMethod {
 public:
  T5Method(const T5Shape& shape, bool shared, const Scope& scope) : shape_(shape), maps_(shape) {
    if (shared) table_ = &table(scope);
  }
  std::unique_ptr<PositionLayer> layer(const Scope& scope, const Projections&) const override {
    return std::make_unique<T5Layer>(shape_, maps_, table_ ? *table_ : table(scope));
  }

 private:
  Parameter& table(const Scope& scope) const {
    return scope.parameter("bias", {shape_.buckets, shape_.heads}, Init::zeros(), Role::kPosition);
  }
  T5Shape shape_;
  BucketMaps maps_;
  Parameter* table_ = nullptr;
};

class T5Options : public RelativeOptions {
 public:
  void visit(Fields& f) override {
    f.integer("buckets", shape_.buckets, {2, 1 << 12}, "buckets of distances");
    f.integer("max_distance", shape_.max_distance, {2, 1 << 24},
              "buckets grow logarithmically up to here; all beyond share one", "tokens");
    static const char* const kStacks[] = {"both", "encoder", "decoder"};
    f.boolean("shared", shared_, "one table for all layers");
    f.choose("stacks", stacks_, kStacks, "which stacks of an encoder-decoder have the bias");
    RelativeOptions::visit(f);
  }

  void validate(const ModelOptions& model) const override {
    check<ConfigError>(model.kind == ModelKind::kEncoderDecoder || stacks_ == Stacks::kBoth,
                       "position.stacks chooses between the stacks of an encoder-decoder: leave it "
                       "at both");
    if (model.kind != ModelKind::kEncoder) T5Buckets(shape_.buckets, shape_.max_distance, true);
    if (model.kind != ModelKind::kDecoder) T5Buckets(shape_.buckets, shape_.max_distance, false);
  }
  bool serves(bool causal) const override {
    return stacks_ != (causal ? Stacks::kEncoder : Stacks::kDecoder);
  }

  std::unique_ptr<PositionMethod> build(const ModelOptions& model,
                                        const Scope& scope) const override {
    T5Shape shape = shape_;
    shape.heads = model.heads;
    return std::make_unique<T5Method>(shape, shared_, scope);
  }

 private:
  enum class Stacks { kBoth, kEncoder, kDecoder };
  T5Shape shape_;
  bool shared_ = true;
  Stacks stacks_ = Stacks::kBoth;
};

}  // namespace

std::unique_ptr<PositionOptions> make_t5_position() { return std::make_unique<T5Options>(); }

}  // namespace tapemeasure
