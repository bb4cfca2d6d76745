// SPDX-License-Identifier: MIT
// SIGINT and SIGTERM as wishes: a run that gets one saves at the next step border and ends.
#pragma once

#include <csignal>

namespace tapemeasure {

/// The two signals are only remembered while it lives. One at a time.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
  /// The signal that came last, or 0.
  static int received();
  /// How many came.
  static int count();

 private:
  using Action = struct sigaction;
  Action old_int_ = {}, old_term_ = {};
};

}  // namespace tapemeasure
