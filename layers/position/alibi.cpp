// SPDX-License-Identifier: MIT
// ALiBi (Press et al. 2022, "Train short, test long", section 3): bias_h[i - j] = -m_h (i - j), not
// scaled. Symmetric, for attention that looks both ways: -m_h |i - j|. The slopes m_h are fixed, or
// learned from there on. The authors' code adds m_h j instead, which is the same under a causal
// mask only.
#include <bit>
#include <cmath>

#include "core/host.h"
#include "layers/options.h"
#include "layers/position/offsets.h"
#include "layers/position/slopes.h"

namespace tapemeasure {

std::vector<double> alibi_slopes(int64_t heads) {
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  std::vector<double> slopes;
  for (int64_t h = 0; h < power; ++h) {
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(power)));
  }
  for (int64_t h = 0; power + h < heads; ++h) {
    slopes.push_back(std::exp2(-4.0 * static_cast<double>(2 * h + 1) / static_cast<double>(power)));
  }
  return slopes;
}

namespace {

class AlibiMethod : public PositionMethod {
 public:
  AlibiMethod(int64_t heads, bool symmetric, Parameter* slopes)
      : heads_(heads), symmetric_(symmetric), slopes_(slopes) {}

  std::unique_ptr<PositionLayer> layer(const Scope&, const Projections&) const override {
    return std::make_unique<Layer>(*this);
  }

 private:
  class Layer : public PositionLayer {
   public:
    explicit Layer(const AlibiMethod& method) : method_(method) {}
    AttentionTerms terms(Run& run, const Span& span, KeptTables*) const override {
      return method_.terms(run, span);
    }

   private:
    const AlibiMethod& method_;
  };

  AttentionTerms terms(Run& run, const Span& span) const {
    const Offsets wanted = offsets_of(span);
    if (!span.served_by(table_) || !offsets_.contains(wanted)) fill(with_room(wanted), span);
    AttentionTerms terms;
    terms.bias_map = map_(span);
    // By offset [R, 1] for learned slopes [H, 1], or times the fixed ones: [H, R].
    terms.bias = slopes_
                     ? linear(run, run.tape.leaf(*slopes_).reshaped({heads_, 1}), Variable(table_))
                     : Variable(table_);
    return terms;
  }

  void fill(const Offsets& offsets, const Span& span) const {
    offsets_ = offsets;
    map_ = OffsetRows([first = offsets.first](int64_t r) { return r - first; });
    const std::vector<double> slopes = slopes_ ? std::vector<double>{1} : alibi_slopes(heads_);
    std::vector<double> values;
    for (const double slope : slopes) {
      for (int64_t r = offsets.first; r <= offsets.last; ++r) {
        values.push_back(slope * static_cast<double>(symmetric_ ? -std::abs(r) : r));
      }
    }
    const int64_t count = offsets.count();
    table_ = to_tensor(*span.backend, slopes_ ? Shape{count, 1} : Shape{heads_, count}, span.dtype,
                       values);
  }

  int64_t heads_;
  bool symmetric_;
  Parameter* slopes_;
  mutable Offsets offsets_;  // that table_ covers
  mutable Tensor table_;
  mutable OffsetRows map_{[](int64_t) { return 0; }};
};

class AlibiOptions : public RelativeOptions {
 public:
  void visit(Fields& f) override {
    f.boolean(
        "symmetric", symmetric_,
        "the penalty grows both ways; else keys ahead of the query are favoured. All the same "
        "under a causal mask");
    f.boolean("learned", learned_, "slopes are parameters that start at the fixed ones");
    RelativeOptions::visit(f);
  }

  std::unique_ptr<PositionMethod> build(const ModelOptions& model,
                                        const Scope& scope) const override {
    Parameter* slopes = nullptr;
    if (learned_) {
      slopes = &scope.parameter("slopes", {model.heads}, Init::values(alibi_slopes(model.heads)),
                                Role::kPosition);
    }
    return std::make_unique<AlibiMethod>(model.heads, symmetric_, slopes);
  }

 private:
  bool symmetric_ = true;
  bool learned_ = false;
};

}  // namespace

std::unique_ptr<PositionOptions> make_alibi_position() { return std::make_unique<AlibiOptions>(); }

}  // namespace tapemeasure
