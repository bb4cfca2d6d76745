// SPDX-License-Identifier: MIT
// Working memory of the reference kernels: doubles that are 0 at first, from a pool of the thread
// that is kept between calls, so that a steady step asks the system for nothing.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

namespace tapemeasure::reference {

class Scratch : public std::pmr::vector<double> {
 public:
  explicit Scratch(int64_t count = 0)
      : std::pmr::vector<double>(static_cast<size_t>(count), 0.0, pool()) {}

 private:
  static std::pmr::memory_resource* pool() {
    thread_local std::pmr::unsynchronized_pool_resource resource(
        {.max_blocks_per_chunk = 0, .largest_required_pool_block = size_t{1} << 30});
    return &resource;
  }
};

}  // namespace tapemeasure::reference
