// SPDX-License-Identifier: MIT
#include "core/random.h"

#include <cmath>
#include <numbers>

namespace tapemeasure {

uint64_t hash_text(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325ull;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001B3ull;
  return mix(hash);
}

namespace {
double to_unit(uint32_t high, uint32_t low) {
  return static_cast<double>((static_cast<uint64_t>(high) << 21) ^ (low >> 11)) * 0x1p-53;
}
}  // namespace

double random_uniform(uint64_t key, uint64_t index) {
  const auto x = philox(key, index, 0);
  return to_unit(x[0], x[1]);
}

double random_normal(uint64_t key, uint64_t index) {
  const auto x = philox(key, index, 0);
  const double radius = std::sqrt(-2 * std::log(1 - to_unit(x[0], x[1])));
  return radius * std::cos(2 * std::numbers::pi * to_unit(x[2], x[3]));
}

uint64_t random_below(uint64_t key, uint64_t index, uint64_t bound) {
  const auto x = philox(key, index, 0);
  __extension__ using Wide = unsigned __int128;
  const uint64_t word = (static_cast<uint64_t>(x[0]) << 32) | x[1];
  return static_cast<uint64_t>((static_cast<Wide>(word) * bound) >> 64);
}

Permutation::Permutation(uint64_t key, uint64_t size) : key_(key), size_(size), half_bits_(1) {
  while (half_bits_ < 32 && (uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
}

uint64_t Permutation::operator()(uint64_t index) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  do {
    uint64_t left = index >> half_bits_, right = index & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t next = left ^ (philox(key_, right, round)[0] & mask);
      left = right;
      right = next;
    }
    index = (left << half_bits_) | right;
  } while (index >= size_);
  return index;
}

}  // namespace tapemeasure
