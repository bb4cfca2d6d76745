// SPDX-License-Identifier: MIT
// A run of the real program in which one call goes wrong, for each call in turn.
#pragma once

#include <cerrno>
#include <string>

namespace tapemeasure::testing {

struct FaultPlan {
  std::string action;         ///< as tests/fault/shim.cpp takes it
  int first = 1, stride = 1;  ///< which calls
};

/// For each call of the plan until the run comes to its end without meeting it: trains with the
/// fault, checks what is left, resumes (or starts again), and compares with an unharmed run.
void expect_survival(const FaultPlan& plan);

}  // namespace tapemeasure::testing
