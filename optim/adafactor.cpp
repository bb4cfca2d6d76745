// SPDX-License-Identifier: MIT
// Adafactor (Shazeer & Stern 2018, algorithms 4 and 5): matrices keep moving averages of the row
// and column means of g^2 instead of all of it; the kernel has the formulas (core/backend.h).
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "optim/update_rule.h"

namespace tapemeasure {

namespace {

struct AdafactorKeys {
  double epsilon = 1e-30;
  double minimum_scale = 1e-3;
  double clip_threshold = 1;
  double decay_exponent = 0.8;
  std::optional<double> beta1;
  bool scale_parameter = true;
  bool relative_step = true;
  bool warmup_init = false;
};

class Adafactor : public UpdateRule {
 public:
  Adafactor(const AdafactorKeys& keys, ParameterStore& store) : keys_(keys) {
    for (const Parameter& parameter : store.all()) {
      Backend& backend = parameter.value.backend();
      const DType dtype = parameter.value.dtype();
      Slots& slots = slots_.emplace_back();
      if (parameter.shape.axes() >= 2) {
        const int64_t columns = parameter.shape[-1];
        slots.rows = zeros(backend, {parameter.shape.count() / columns}, dtype);
        slots.columns = zeros(backend, {columns}, dtype);
      } else {
        slots.rows = zeros(backend, parameter.shape, dtype);
      }
      if (keys_.beta1) slots.first_moment = zeros(backend, parameter.shape, dtype);
    }
  }

  void apply(const Update& update, ParameterStore& store, std::span<const double> decay) override {
    AdafactorStep step{.rate = rate(update),
                       .beta2 = 1 - std::pow(double(update.count), -keys_.decay_exponent),
                       .beta1 = keys_.beta1.value_or(-1),
                       .epsilon = keys_.epsilon,
                       .minimum_scale = keys_.minimum_scale,
                       .clip_threshold = keys_.clip_threshold,
                       .decay = 0,
                       .gradient_scale = update.gradient_scale,
                       .scale_parameter = keys_.scale_parameter};
    for (const Parameter& parameter : store.all()) {
      const Slots& slots = slots_[parameter.index];
      step.decay = decay[parameter.index];
      parameter.value.backend().adafactor(step, parameter.gradient, parameter.value, slots.rows,
                                          slots.columns, slots.first_moment);
    }
  }

  double rate(const Update& update) const override {
    if (!keys_.relative_step) return update.rate;
    const double count = static_cast<double>(update.count);
    return std::min(keys_.warmup_init ? 1e-6 * count : 1e-2, 1 / std::sqrt(count));
  }

  void visit_state(StateVisitor& v, ParameterStore& store) override {
    for (const Parameter& parameter : store.all()) {
      const Slots& slots = slots_[parameter.index];
      const std::string place = "optimizer/" + parameter.name + "/";
      v.tensor(place + "rows", slots.rows);
      if (slots.columns.defined()) v.tensor(place + "columns", slots.columns);
      if (slots.first_moment.defined()) v.tensor(place + "first_moment", slots.first_moment);
    }
  }

 private:
  struct Slots {
    Tensor rows, columns, first_moment;
  };
  AdafactorKeys keys_;
  std::vector<Slots> slots_;
};

class AdafactorOptions : public UpdateRuleOptions {
 public:
  void visit(Fields& f) override {
    f.real("learning_rate", learning_rate_, kRates, "none: relative_step decides",
           "peak of the schedule; only without relative_step");
    UpdateRuleOptions::visit(f);
    f.real("epsilon", keys_.epsilon, {0, 1}, "added to squared gradients");
    f.real("minimum_scale", keys_.minimum_scale, {0, 1e3},
           "smallest RMS of a parameter that scales its rate");
    f.real("clip_threshold", keys_.clip_threshold, {1e-9, 1e9}, "largest RMS of an update");
    f.real("decay_exponent", keys_.decay_exponent, {0, 10}, "beta2 = 1 - step^-this");
    f.real("beta1", keys_.beta1, {0, 1}, "none", "decay of a moving average of the updates");
    f.boolean("scale_parameter", keys_.scale_parameter, "rates are relative to a parameter's RMS");
    f.boolean("relative_step", keys_.relative_step, "the rate is min(0.01, step^-1/2)");
    f.boolean("warmup_init", keys_.warmup_init, "relative steps start at 1e-6 * step");
  }
  std::unique_ptr<UpdateRule> build(ParameterStore& store) const override {
    return std::make_unique<Adafactor>(keys_, store);
  }
  double peak_rate() const override { return learning_rate_.value_or(0); }
  void validate() const override {
    check<ConfigError>(keys_.relative_step != learning_rate_.has_value(),
                       "optimizer: adafactor wants either learning_rate or relative_step: true "
                       "(default), not {}",
                       keys_.relative_step ? "both" : "neither");
    check<ConfigError>(!keys_.warmup_init || keys_.relative_step,
                       "optimizer: adafactor's warmup_init needs relative_step: true");
  }

 private:
  std::optional<double> learning_rate_;
  AdafactorKeys keys_;
};

}  // namespace

std::unique_ptr<UpdateRuleOptions> make_adafactor_rule() {
  return std::make_unique<AdafactorOptions>();
}

}  // namespace tapemeasure
