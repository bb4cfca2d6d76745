// SPDX-License-Identifier: MIT
#include "app/signals.h"

namespace tapemeasure {

namespace {
// A handler can reach nothing but what is global.
volatile std::sig_atomic_t g_signal = 0, g_count = 0;
void remember_signal(int signal) {
  g_signal = signal;
  g_count = g_count + 1;
}
}  // namespace

SignalGuard::SignalGuard() {
  g_signal = 0;
  g_count = 0;
  Action action = {};
  action.sa_handler = remember_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &old_int_);
  sigaction(SIGTERM, &action, &old_term_);
  sigaction(SIGHUP, nullptr, &old_hangup_);
  if (old_hangup_.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

SignalGuard::~SignalGuard() {
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
  sigaction(SIGHUP, &old_hangup_, nullptr);
}

int SignalGuard::received() { return g_signal; }
int SignalGuard::count() { return g_count; }

}  // namespace tapemeasure
