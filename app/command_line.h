// SPDX-License-Identifier: MIT
// The command `tapemeasure`.
#pragma once

namespace tapemeasure {

/// Parses, acts, prints one line per error. Returns the exit code.
int run_command_line(int argc, char** argv);

}  // namespace tapemeasure
