// SPDX-License-Identifier: MIT
// Sinusoidal positions (Vaswani et al. 2017, section 3.5): x_p = embedding + scale * PE[p], with
//   PE[p, 2t] = sin(p w_t), PE[p, 2t+1] = cos(p w_t), w_t = 10000^(-2t/D).
// tensor2tensor and fairseq put all sines before all cosines and end at exactly 1/10000.
#include <cmath>

#include "core/host.h"
#include "layers/options.h"
#include "layers/position/method.h"
#include "layers/position/sinusoid.h"

namespace tapemeasure {

namespace {

class Sinusoidal : public PositionMethod {
 public:
  explicit Sinusoidal(const SinusoidTable& table) : table_(table) {}

  Variable embed(Run& run, const Variable& x_BTD, int64_t first_position) const override {
    const int64_t rows = x_BTD.shape()[1];
    if (!cached_.defined() || first_position != cached_first_ || rows > cached_.shape()[0] ||
        cached_.dtype() != x_BTD.value().dtype() ||
        &cached_.backend() != &x_BTD.value().backend()) {
      cached_ = to_tensor(x_BTD.value().backend(), {rows, table_.width}, x_BTD.value().dtype(),
                          table_.rows(first_position, 1, rows));
      cached_first_ = first_position;
    }
    return add_rows(run, x_BTD, Variable(cached_), 0);
  }

 private:
  SinusoidTable table_;
  mutable Tensor cached_;  // the rows of the last call
  mutable int64_t cached_first_ = 0;
};

class SinusoidalOptions : public PositionOptions {
 public:
  void visit(Fields& f) override {
    static const char* const kLayouts[] = {"interleaved", "halves"};
    static const char* const kFrequencies[] = {"paper", "t2t"};
    f.choice("layout", layout_, kLayouts, "sine and cosine side by side, or all sines first");
    f.choice("frequencies", frequencies_, kFrequencies,
             "the paper's 10000^(-2t/D), or tensor2tensor's, which end at exactly 1/10000");
    f.real("scale", scale_, {0, 1e6}, "so that the table's RMS is the embeddings'",
           "multiplies the table");
  }

  std::string refuses_memory() const override { return absolute_memory_conflict("sinusoidal"); }
  bool adds_to_embeddings() const override { return true; }

  std::unique_ptr<PositionMethod> build(const ModelOptions& model, const Scope&) const override {
    const double matching = std::sqrt(2.0) * model.embedding_deviation() * model.embedding_scale;
    return std::make_unique<Sinusoidal>(SinusoidTable{.width = model.width,
                                                      .interleaved = layout_ == 0,
                                                      .t2t = frequencies_ == 1,
                                                      .scale = scale_.value_or(matching)});
  }

 private:
  int layout_ = 0;
  int frequencies_ = 0;
  std::optional<double> scale_;
};

}  // namespace

std::unique_ptr<PositionOptions> make_sinusoidal_position() {
  return std::make_unique<SinusoidalOptions>();
}

}  // namespace tapemeasure
