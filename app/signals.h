// SPDX-License-Identifier: MIT
// SIGINT, SIGTERM and SIGHUP as wishes: a run that gets one saves at the next step border and ends.
#pragma once

#include <csignal>

namespace tapemeasure {

/// The signals are only remembered while it lives; SIGHUP stays ignored where it is, as nohup wants
/// it. One at a time.
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
  Action old_int_ = {}, old_term_ = {}, old_hangup_ = {};
};

}  // namespace tapemeasure
