// SPDX-License-Identifier: MIT
// Rotary positions (Su et al. 2021, "RoFormer", section 3.2): pair f of the first n channels of
// every query and key is turned by position * w_f, w_f = theta^(-2f/n), before their product, which
// then depends on i - j alone. Pairs are (2f, 2f + 1), or (f, f + n/2) as in GPT-NeoX and Llama:
// the same model up to the order of channels. Tables are computed in double.
#include <bit>
#include <cmath>

#include "core/error.h"
#include "core/host.h"
#include "layers/options.h"
#include "layers/position/rope_scaling.h"

namespace tapemeasure {

namespace {

class RopeMethod : public PositionMethod {
 public:
  RopeMethod(const RopeShape& shape, std::shared_ptr<const RopeScaling> scaling, bool interleaved)
      : shape_(shape), scaling_(std::move(scaling)), interleaved_(interleaved) {}

  std::unique_ptr<PositionLayer> layer(const Scope&, const Projections&) const override {
    return std::make_unique<Layer>(*this);
  }
  int64_t version(int64_t length) const override { return scaling_->version(shape_, length); }

 private:
  class Layer : public PositionLayer {
   public:
    explicit Layer(const RopeMethod& method) : method_(method) {}
    std::optional<Backend::Rotation> rotation(const Span& span) const override {
      return method_.rotation(span);
    }

   private:
    const RopeMethod& method_;
  };

  Backend::Rotation rotation(const Span& span) const {
    const int64_t length = span.length(), version = this->version(length);
    if (!span.served_by(cosine_) || version_ != version || cosine_.shape()[0] < length) {
      version_ = version;
      fill(span);
    }
    Backend::Rotation rotation;
    rotation.cosine = cosine_;
    rotation.sine = sine_;
    rotation.interleaved = interleaved_;
    return rotation;
  }

  /// Tables with room for longer calls of the same version.
  void fill(const Span& span) const {
    const auto rows = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(span.length())));
    const std::vector<double> frequencies = scaling_->frequencies(shape_, span.length());
    const double factor = scaling_->attention_factor(shape_);
    std::vector<double> cosine, sine;
    for (int64_t position = 0; position < rows; ++position) {
      for (const double frequency : frequencies) {
        const double angle = static_cast<double>(position) * frequency;
        cosine.push_back(factor * std::cos(angle));
        sine.push_back(factor * std::sin(angle));
      }
    }
    const Shape shape{rows, shape_.channels / 2};
    cosine_ = to_tensor(*span.backend, shape, span.dtype, cosine);
    sine_ = to_tensor(*span.backend, shape, span.dtype, sine);
  }

  RopeShape shape_;
  std::shared_ptr<const RopeScaling> scaling_;
  bool interleaved_;
  mutable Tensor cosine_, sine_;
  mutable int64_t version_ = 0;
};

class RopeOptions : public RelativeOptions {
 public:
  void visit(Fields& f) override {
    static const char* const kLayouts[] = {"half", "interleaved"};
    f.choice("layout", layout_, kLayouts, "channels f and f + n/2 pair up, or neighbours");
    f.real("theta", theta_, {1, 1e12}, "base of the frequencies theta^(-2f/n)");
    f.real("fraction", fraction_, {0, 1}, "share of a head's channels that turn");
    f.kind("scaling", scaling_, rope_scalings(), "how to reach beyond the trained length");
    RelativeOptions::visit(f);
  }

  void validate(const ModelOptions& model) const override {
    const RopeShape shape = shape_of(model);
    check<ConfigError>(shape.channels >= 2 && shape.channels % 2 == 0,
                       "rope turns pairs of channels, and position.fraction {} of a head width of "
                       "{} is {}: change the fraction, model.heads or model.head_width so that it "
                       "is even",
                       fraction_, model.the_head_width(), shape.channels);
    scaling_.options->validate(shape);
  }

  std::string refuses_memory() const override {
    if (scaling_.options->depends_on_length()) {
      return "the frequencies of position.scaling " + scaling_.kind +
             " change with the length, and a memory's length does";
    }
    return RelativeOptions::refuses_memory();
  }

  std::unique_ptr<PositionMethod> build(const ModelOptions& model, const Scope&) const override {
    return std::make_unique<RopeMethod>(shape_of(model), scaling_.options, layout_ == 1);
  }

 private:
  RopeShape shape_of(const ModelOptions& model) const {
    const double turned = fraction_ * static_cast<double>(model.the_head_width());
    return {static_cast<int64_t>(std::floor(turned + 1e-9)), theta_, model.context};
  }

  int layout_ = 0;
  double theta_ = 10000, fraction_ = 1;
  Chosen<RopeScaling> scaling_{"none", nullptr};
};

}  // namespace

std::unique_ptr<PositionOptions> make_rope_position() { return std::make_unique<RopeOptions>(); }

}  // namespace tapemeasure
