// SPDX-License-Identifier: MIT
// What an error comes to outside of the program: a line and an exit code.
#pragma once

#include <exception>
#include <string>

#include "core/error.h"

namespace tapemeasure {

struct Complaint {
  std::string message;
  ExitCode code = ExitCode::kInternal;
};
Complaint complaint_of(const std::exception& error);

}  // namespace tapemeasure
