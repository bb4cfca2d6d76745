// SPDX-License-Identifier: MIT
// SGD: g += decay * p;  b = g at the first update, then momentum * b + g;
//   p -= rate * b, or rate * (g + momentum * b) with Nesterov's form (Sutskever et al. 2013).
#include "optim/update_rule.h"

namespace tapemeasure {

namespace {

class Sgd : public UpdateRule {
 public:
  Sgd(double momentum, bool nesterov, ParameterStore& store)
      : momentum_(momentum), nesterov_(nesterov) {
    const Tensor& values = store.values();
    if (momentum > 0) buffer_ = zeros(values.backend(), values.shape(), values.dtype());
  }

  void apply(const Update& update, ParameterStore& store, std::span<const double> decay) override {
    for (const Parameter& parameter : store.all()) {
      const SgdStep step{.rate = update.rate,
                         .momentum = momentum_,
                         .decay = decay[parameter.index],
                         .gradient_scale = update.gradient_scale,
                         .nesterov = nesterov_,
                         .first = update.count == 1};
      parameter.value.backend().sgd(step, parameter.gradient, parameter.value, buffer(parameter));
    }
  }

  void visit_state(StateVisitor& v, ParameterStore& store) override {
    if (!buffer_.defined()) return;
    for (const Parameter& parameter : store.all()) {
      v.tensor("optimizer/" + parameter.name + "/momentum", buffer(parameter));
    }
  }

 private:
  Tensor buffer(const Parameter& parameter) const {
    if (!buffer_.defined()) return {};
    return buffer_.rows(parameter.offset, parameter.shape.count()).reshaped(parameter.shape);
  }

  double momentum_;
  bool nesterov_;
  Tensor buffer_;  // laid out as the store; undefined without momentum
};

class SgdOptions : public UpdateRuleOptions {
 public:
  void visit(Fields& f) override {
    f.real("learning_rate", learning_rate_, kRates, "peak of the schedule");
    UpdateRuleOptions::visit(f);
    f.real("momentum", momentum_, {0, 1}, "share of the last update that is kept");
    f.boolean("nesterov", nesterov_, "look ahead by the momentum");
  }
  std::unique_ptr<UpdateRule> build(ParameterStore& store) const override {
    return std::make_unique<Sgd>(momentum_, nesterov_, store);
  }
  double peak_rate() const override { return learning_rate_; }

 private:
  double learning_rate_ = 0.1;
  double momentum_ = 0;
  bool nesterov_ = false;
};

}  // namespace

std::unique_ptr<UpdateRuleOptions> make_sgd_rule() { return std::make_unique<SgdOptions>(); }

}  // namespace tapemeasure
