// SPDX-License-Identifier: MIT
// What an error says, for tests of messages.
#pragma once

#include <string>

namespace tapemeasure::testing {

/// The message of the `E` that `action` throws, or "". An error of another kind gets through.
template <class E, class Action>
std::string error_of(Action action) {
  try {
    action();
    return "";
  } catch (const E& error) {
    return error.what();
  }
}

}  // namespace tapemeasure::testing
