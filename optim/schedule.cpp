// SPDX-License-Identifier: MIT
#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace tapemeasure {

void ScheduleOptions::visit(Fields& f) {
  f.integer("warmup_steps", warmup_steps, {0, 1LL << 40}, "steps of linear warm-up", "steps");
  f.integer("steps", steps, {1, 1LL << 40}, "trainer.steps",
            "length of the schedule; later steps stay at its end", "steps");
  f.real("start_fraction", start_fraction, {0, 1}, "of the peak, at which the warm-up starts");
  f.integer("first_step", first_step, {0, 1LL << 40},
            "the t of the first step: 0 starts a warm-up from 0 at rate 0", "steps");
}

void ScheduleOptions::validate() const {
  check<ConfigError>(warmup_steps <= *steps,
                     "schedule.warmup_steps {} is longer than the schedule of {} steps",
                     warmup_steps, *steps);
}

double ScheduleOptions::factor(int64_t step) const {
  const double t = static_cast<double>(step + first_step);
  const double warmup = static_cast<double>(warmup_steps);
  if (t < warmup) return start_fraction + (1 - start_fraction) * t / warmup;
  return after_warmup(t);
}

double ScheduleOptions::progress(double t) const {
  const double length = static_cast<double>(*steps - warmup_steps);
  return length <= 0 ? 1 : std::min(1.0, (t - static_cast<double>(warmup_steps)) / length);
}

namespace {

double half_cosine(double p) { return 0.5 * (1 + std::cos(std::numbers::pi * p)); }

class Constant : public ScheduleOptions {
  double after_warmup(double) const override { return 1; }
};

/// Schedules that end at a fraction of the peak.
class Falling : public ScheduleOptions {
 public:
  void visit(Fields& f) override {
    ScheduleOptions::visit(f);
    f.real("final_fraction", final_fraction_, {0, 1}, "of the peak, at which the schedule ends");
  }

 protected:
  double between(double share) const { return final_fraction_ + (1 - final_fraction_) * share; }

 private:
  double final_fraction_ = 0;
};

class Linear : public Falling {
  double after_warmup(double t) const override { return between(1 - progress(t)); }
};

class Cosine : public Falling {
  double after_warmup(double t) const override { return between(half_cosine(progress(t))); }
};

class InverseSquareRoot : public ScheduleOptions {
 public:
  void visit(Fields& f) override {
    ScheduleOptions::visit(f);
    f.integer("timescale", timescale_, {1, 1LL << 40}, "warmup_steps",
              "factor ((t - warmup + timescale) / timescale)^-1/2", "steps");
  }
  void validate() const override {
    ScheduleOptions::validate();
    check<ConfigError>(timescale() > 0,
                       "schedule: inverse_square_root without warm-up needs a timescale");
  }

 private:
  double timescale() const { return static_cast<double>(timescale_.value_or(warmup_steps)); }
  double after_warmup(double t) const override {
    return 1 / std::sqrt((t - static_cast<double>(warmup_steps) + timescale()) / timescale());
  }
  std::optional<int64_t> timescale_;
};

/// Warm-up, stable, decay (Hu et al. 2024, "MiniCPM", section 4.2).
class WarmupStableDecay : public Falling {
 public:
  void visit(Fields& f) override {
    static const char* const kDecays[] = {"linear", "cosine", "one_minus_sqrt"};
    Falling::visit(f);
    f.integer("decay_steps", decay_steps_, {1, 1LL << 40}, "steps / 10", "length of the decay",
              "steps");
    f.choice("decay", decay_, kDecays, "form of the decay");
  }
  void validate() const override {
    ScheduleOptions::validate();
    check<ConfigError>(decay_steps() + warmup_steps <= *steps,
                       "schedule: warmup_steps {} and decay_steps {} are longer than {} steps",
                       warmup_steps, decay_steps(), *steps);
  }

 private:
  int64_t decay_steps() const { return decay_steps_.value_or(std::max<int64_t>(1, *steps / 10)); }
  double after_warmup(double t) const override {
    const double length = static_cast<double>(decay_steps());
    const double p = (t - static_cast<double>(*steps) + length) / length;
    if (p <= 0) return 1;
    if (p >= 1) return between(0);
    if (decay_ == 0) return between(1 - p);
    return between(decay_ == 1 ? half_cosine(p) : 1 - std::sqrt(p));
  }
  std::optional<int64_t> decay_steps_;
  int decay_ = 0;
};

template <class T>
std::unique_ptr<ScheduleOptions> make() {
  return std::make_unique<T>();
}

}  // namespace

std::span<const Kind<ScheduleOptions>> schedules() {
  static const Kind<ScheduleOptions> kSchedules[] = {
      {"constant", "the peak", make<Constant>},
      {"linear", "a straight line to final_fraction", make<Linear>},
      {"cosine", "half a cosine to final_fraction", make<Cosine>},
      {"inverse_square_root", "falls with the root of the step", make<InverseSquareRoot>},
      {"wsd", "warm-up, stable, decay", make<WarmupStableDecay>},
  };
  return kSchedules;
}

}  // namespace tapemeasure
