// SPDX-License-Identifier: MIT
#include "core/backends/host_memory.h"

#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "core/error.h"

namespace tapemeasure {

void* allocate_host_memory(size_t bytes, const std::string& backend) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const bool huge = bytes >= 2 * kHugePage;
  const size_t alignment = huge ? kHugePage : 64;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* data = rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded);
  check<Error>(data != nullptr, "{}: no memory for {} bytes: lower micro_batch_tokens or the model",
               backend, bytes);
#if defined(__linux__)
  // Only a wish: without huge pages the block works all the same.
  if (huge) (void)madvise(data, rounded, MADV_HUGEPAGE);
#endif
  return data;
}

void free_host_memory(void* data) { std::free(data); }

}  // namespace tapemeasure
