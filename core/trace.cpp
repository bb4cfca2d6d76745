// SPDX-License-Identifier: MIT
#include "core/trace.h"

#include <fmt/format.h>

namespace tapemeasure {

double Product::operations() const {
  return 2.0 * static_cast<double>(M) * static_cast<double>(N) * static_cast<double>(K);
}

std::string Product::str() const {
  return fmt::format("{} x {} x {}{}{}", M, N, K, transpose_a ? ", a transposed" : "",
                     transpose_b ? ", b transposed" : "");
}

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
