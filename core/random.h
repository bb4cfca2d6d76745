// SPDX-License-Identifier: MIT
// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random
// numbers: as easy as 1, 2, 3"). A value is a pure function of a key and a counter, so nothing
// random is ever stored and nothing depends on the order in which numbers are drawn.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tapemeasure {

/// What numbers are for. Streams never share a key, so drawing from one cannot move another.
enum class Stream : uint32_t { kInitialisation = 1, kData = 2, kDropout = 3, kSampling = 4 };

/// 64 well-mixed bits of a text, the same on every machine (FNV-1a, then the finalizer below).
uint64_t hash_text(std::string_view text);

/// The finalizer of SplitMix64: a bijection of 64 bits that mixes well.
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

/// The key of one use of randomness: (seed, stream, step, site). `site` tells two uses in one step
/// apart: a hash of a parameter's name, of a dropout's path, an epoch.
constexpr uint64_t random_key(uint64_t seed, Stream stream, uint64_t step, uint64_t site) {
  uint64_t key = mix(seed + 0x9E3779B97F4A7C15ull);
  key = mix(key ^ (static_cast<uint64_t>(stream) + 0x9E3779B97F4A7C15ull));
  key = mix(key ^ (step + 0x9E3779B97F4A7C15ull));
  return mix(key ^ (site + 0x9E3779B97F4A7C15ull));
}

/// Four random 32-bit words for the 128-bit counter (high, low) under `key`.
inline std::array<uint32_t, 4> philox(uint64_t key, uint64_t low, uint64_t high) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  std::array<uint32_t, 4> x = {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                               static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = 0xD2511F53ull * x[0], b = 0xCD9E8D57ull * x[2];
    x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ k0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ x[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return x;
}

/// Word `index` of sequence `sequence` under `key`: philox(key, index / 4, sequence)[index % 4].
inline uint32_t random_word(uint64_t key, uint64_t sequence, uint64_t index) {
  return philox(key, index / 4, sequence)[index % 4];
}

/// Uniform in [0, 1) with 53 random bits; `index` counts draws.
double random_uniform(uint64_t key, uint64_t index);
/// Standard normal (Box-Muller in double); `index` counts draws.
double random_normal(uint64_t key, uint64_t index);
/// Uniform in [0, bound). REQUIRES: bound > 0.
uint64_t random_below(uint64_t key, uint64_t index, uint64_t bound);

/// A keyed permutation of [0, size) that is evaluated at a point, in O(1) memory: a four-round
/// Feistel network over the next even power of two, walked until it lands inside.
class Permutation {
 public:
  Permutation(uint64_t key, uint64_t size);
  uint64_t operator()(uint64_t index) const;

 private:
  uint64_t key_, size_;
  int half_bits_;
};

}  // namespace tapemeasure
