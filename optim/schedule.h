// SPDX-License-Identifier: MIT
// Learning-rate schedules: rate = learning_rate * factor(t), pure functions of the step. After a
// linear warm-up of w steps each kind decays in its own way; p = min(1, (t - w) / (steps - w)).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/config/fields.h"

namespace tapemeasure {

class ScheduleOptions : public KindOptions {
 public:
  int64_t warmup_steps = 0;
  std::optional<int64_t> steps;  ///< fixed at the start of a run; trainer.steps by default
  double start_fraction = 0;
  int64_t first_step = 0;

  void visit(Fields& f) override;
  /// The factor of step `step`, counted from 0. REQUIRES: steps is set.
  double factor(int64_t step) const;
  /// Throws ConfigError on keys that contradict each other. REQUIRES: steps is set.
  virtual void validate() const;

 protected:
  /// The factor at t >= warmup_steps.
  virtual double after_warmup(double t) const = 0;
  /// Share of the decay that is over at t.
  double progress(double t) const;
};

std::span<const Kind<ScheduleOptions>> schedules();

}  // namespace tapemeasure
