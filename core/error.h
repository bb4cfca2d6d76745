// SPDX-License-Identifier: MIT
// One exception family. Libraries throw these; only the command line prints them, as one line, and
// returns the exit code that each carries.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace tapemeasure {

/// What a shell sees: 0 done, then one number per kind of failure. A signal exits with 128 +
/// signal.
enum class ExitCode : int {
  kDone = 0,
  kInternal = 1,    // a fault of ours
  kUsage = 2,       // command line or config
  kData = 3,        // text or token file
  kCheckpoint = 4,  // checkpoint or run directory
  kNonFinite = 5,   // a loss or a gradient is not finite
};

/// Root of the family; thrown itself only for faults of ours.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, ExitCode code = ExitCode::kInternal)
      : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// A config key, a `--set` or a command-line argument is wrong.
struct ConfigError : Error {
  explicit ConfigError(const std::string& message) : Error(message, ExitCode::kUsage) {}
};

/// A text or a token file cannot be used.
struct DataError : Error {
  explicit DataError(const std::string& message) : Error(message, ExitCode::kData) {}
};

/// A checkpoint or a run directory cannot be used.
struct CheckpointError : Error {
  explicit CheckpointError(const std::string& message) : Error(message, ExitCode::kCheckpoint) {}
};

/// A loss or a gradient is NaN or infinite.
struct NonFiniteError : Error {
  explicit NonFiniteError(const std::string& message) : Error(message, ExitCode::kNonFinite) {}
};

/// Tensors of the wrong shape or dtype met in an op: a fault of the calling code.
struct ShapeError : Error {
  explicit ShapeError(const std::string& message) : Error(message) {}
};

/// Throws E with the formatted message unless `condition`. Always on: for mistakes of a caller.
template <class E, class... Args>
void check(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw E(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace tapemeasure
