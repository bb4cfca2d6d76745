// SPDX-License-Identifier: MIT
// Checks of numbers on the command line. CLI11's own let NaN through, make of a number that is too
// large the largest one, and name limits with three hundred digits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tapemeasure {

/// For CLI::Option::check: "", or what is wrong with the text.
using NumberCheck = std::function<std::string(const std::string&)>;

NumberCheck number_between(double low, double high);
NumberCheck whole_number_between(int64_t low, int64_t high);

}  // namespace tapemeasure
