// SPDX-License-Identifier: MIT
#include "core/backend.h"
#include "core/backends/cpu/cpu_backend.h"
#include "core/backends/reference/reference_backend.h"
#include "core/error.h"

namespace tapemeasure {

std::unique_ptr<Backend> make_backend(const std::string& name, int threads) {
  check<ConfigError>(threads >= 0, "threads must not be negative, got {}", threads);
  if (name == "reference") return std::make_unique<ReferenceBackend>();
  if (name == "cpu") return std::make_unique<CpuBackend>(threads);
  throw ConfigError(fmt::format("unknown backend '{}': it is reference or cpu", name));
}

}  // namespace tapemeasure
