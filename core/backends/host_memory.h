// SPDX-License-Identifier: MIT
// System memory for backends that live on the host.
#pragma once

#include <cstddef>
#include <string>

namespace tapemeasure {

/// At least 64-byte aligned; large blocks ask for huge pages. Throws Error naming `bytes`.
void* allocate_host_memory(size_t bytes, const std::string& backend);
void free_host_memory(void* data);

}  // namespace tapemeasure
