// SPDX-License-Identifier: MIT
#include "core/backend.h"
#include "core/backends/check/check_backend.h"
#include "core/backends/cpu/cpu_backend.h"
#include "core/backends/reference/reference_backend.h"
#include "core/error.h"

namespace tapemeasure {

std::unique_ptr<Backend> make_backend(const std::string& name, int threads) {
  check<ConfigError>(threads >= 0, "threads must not be negative, got {}", threads);
  if (name == "reference") return std::make_unique<ReferenceBackend>();
  if (name == "cpu") return std::make_unique<CpuBackend>(threads);
  if (name == "cpu:bf16") return std::make_unique<CpuBackend>(threads, cpu::ProductInputs::kBF16);
  if (name == "check:cpu") return std::make_unique<CheckBackend>(make_backend("cpu", threads));
  throw ConfigError(
      fmt::format("unknown backend '{}': there are reference, cpu, cpu:bf16 and check:cpu", name));
}

}  // namespace tapemeasure
