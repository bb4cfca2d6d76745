// SPDX-License-Identifier: MIT
#include "core/trace.h"

namespace tapemeasure {

void Trace::start() {
  intervals_.clear();
  start_ = std::chrono::steady_clock::now();
  on_ = true;
}

double Trace::now() const {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start_)
      .count();
}

Timed::Timed(Trace* trace, const char* name, const char* prefix)
    : trace_(trace && trace->on() ? trace : nullptr) {
  if (!trace_) return;
  interval_.name = std::string(prefix) + name;
  interval_.begin = trace_->now();
}

Timed::~Timed() {
  if (!trace_ || !trace_->on()) return;
  interval_.duration = trace_->now() - interval_.begin;
  trace_->intervals_.push_back(std::move(interval_));
}

}  // namespace tapemeasure
