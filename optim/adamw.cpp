// SPDX-License-Identifier: MIT
// AdamW (Loshchilov & Hutter 2019, algorithm 2): m and v are moving averages of g and g^2,
//   p -= rate * decay * p;  p -= rate * m^ / (sqrt(v^) + epsilon).
#include "core/error.h"
#include "optim/update_rule.h"

namespace tapemeasure {

namespace {

struct AdamwKeys {
  std::vector<double> betas = {0.9, 0.999};
  double epsilon = 1e-8;
};

class Adamw : public UpdateRule {
 public:
  Adamw(const AdamwKeys& keys, ParameterStore& store) : keys_(keys) {
    const Tensor& values = store.values();
    first_moment_ = zeros(values.backend(), values.shape(), values.dtype());
    second_moment_ = zeros(values.backend(), values.shape(), values.dtype());
  }

  void apply(const Update& update, ParameterStore& store, std::span<const double> decay) override {
    // Parameters that lie side by side and decay alike are updated in one call; the zeros between
    // parameters stay zeros.
    const auto& all = store.all();
    for (size_t first = 0; first < all.size();) {
      size_t last = first + 1;
      while (last < all.size() && decay[last] == decay[first]) ++last;
      const int64_t begin = all[first].offset;
      const int64_t end = all[last - 1].offset + all[last - 1].shape.count();
      const AdamwStep step{.rate = update.rate,
                           .beta1 = keys_.betas[0],
                           .beta2 = keys_.betas[1],
                           .epsilon = keys_.epsilon,
                           .decay = decay[first],
                           .gradient_scale = update.gradient_scale,
                           .count = update.count};
      const auto part = [&](const Tensor& tensor) { return tensor.rows(begin, end - begin); };
      store.values().backend().adamw(step, part(store.gradients()), part(store.values()),
                                     part(first_moment_), part(second_moment_));
      first = last;
    }
  }

  void visit_state(StateVisitor& v, ParameterStore& store) override {
    for (const Parameter& parameter : store.all()) {
      const auto slot = [&](const char* name, const Tensor& all) {
        const int64_t count = parameter.shape.count();
        v.tensor("optimizer/" + parameter.name + "/" + name,
                 all.rows(parameter.offset, count).reshaped(parameter.shape));
      };
      slot("first_moment", first_moment_);
      slot("second_moment", second_moment_);
    }
  }

 private:
  AdamwKeys keys_;
  Tensor first_moment_, second_moment_;  // laid out as the store
};

class AdamwOptions : public UpdateRuleOptions {
 public:
  void visit(Fields& f) override {
    f.real("learning_rate", learning_rate_, kRates, "peak of the schedule");
    UpdateRuleOptions::visit(f);
    f.reals("betas", keys_.betas, {0, 1}, "decay of the two moving averages");
    f.real("epsilon", keys_.epsilon, {0, 1}, "added to the root of the second moment");
  }
  std::unique_ptr<UpdateRule> build(ParameterStore& store) const override {
    return std::make_unique<Adamw>(keys_, store);
  }
  double peak_rate() const override { return learning_rate_; }
  void validate() const override {
    check<ConfigError>(keys_.betas.size() == 2, "optimizer.betas wants two numbers, got {}",
                       keys_.betas.size());
  }

 private:
  double learning_rate_ = 1e-3;
  AdamwKeys keys_;
};

}  // namespace

std::unique_ptr<UpdateRuleOptions> make_adamw_rule() { return std::make_unique<AdamwOptions>(); }

}  // namespace tapemeasure
