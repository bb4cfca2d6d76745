// SPDX-License-Identifier: MIT
// The memory pool that all backends share. Blocks are kept by size class and handed out again, so a
// steady training step asks the system for nothing.
#include "core/backend.h"

#include <algorithm>
#include <bit>
#include <memory_resource>
#include <unordered_map>

#include "core/error.h"

namespace tapemeasure {

namespace {
/// Sizes are rounded up to one of four steps per power of two: at most a quarter is wasted.
size_t size_class(size_t bytes) {
  constexpr size_t kSmallest = 256;
  if (bytes <= kSmallest) return kSmallest;
  const size_t step = std::bit_floor(bytes - 1) / 4;
  return (bytes + step - 1) / step * step;
}
}  // namespace

struct Backend::Pool {
  std::pmr::synchronized_pool_resource nodes;  // for Storage objects and their counts
  std::unordered_map<size_t, std::vector<void*>> free;
  size_t bytes = 0, used = 0, peak = 0;
  int64_t requests = 0;
};

Backend::Backend() : pool_(std::make_unique<Pool>()) {}
Backend::~Backend() = default;

std::shared_ptr<Storage> Backend::allocate(size_t bytes) {
  const size_t size = size_class(bytes);
  std::vector<void*>& blocks = pool_->free[size];
  void* data = nullptr;
  if (!blocks.empty()) {
    data = blocks.back();
    blocks.pop_back();
  } else {
    data = allocate_memory(size);
    pool_->bytes += size;
    ++pool_->requests;
  }
  pool_->used += size;
  pool_->peak = std::max(pool_->peak, pool_->used);
  return std::allocate_shared<Storage>(std::pmr::polymorphic_allocator<Storage>(&pool_->nodes),
                                       *this, data, size);
}

void Backend::give_back(void* data, size_t bytes) {
  pool_->used -= bytes;
  pool_->free[bytes].push_back(data);
}

void Backend::release_pool() {
  for (auto& [size, blocks] : pool_->free) {
    for (void* block : blocks) free_memory(block, size);
    blocks.clear();
  }
}

size_t Backend::pool_bytes() const { return pool_->bytes; }
int64_t Backend::pool_requests() const { return pool_->requests; }
size_t Backend::peak_bytes() const { return pool_->peak; }
void Backend::reset_peak() { pool_->peak = pool_->used; }

}  // namespace tapemeasure
