// SPDX-License-Identifier: MIT
// Philox4x32-10 of core/random.h on vectors: one counter in each 64-bit lane, words in the low
// halves, so that each 32 x 32 -> 64 product is one instruction. High halves are garbage
// throughout.
#if defined(TAPEMEASURE_CORE_BACKENDS_CPU_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEMEASURE_CORE_BACKENDS_CPU_PHILOX_INL_H_
#undef TAPEMEASURE_CORE_BACKENDS_CPU_PHILOX_INL_H_
#else
#define TAPEMEASURE_CORE_BACKENDS_CPU_PHILOX_INL_H_
#endif

#include "core/backends/cpu/simd_inl.h"
#include "core/random.h"

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu::HWY_NAMESPACE {

using DW = hn::RebindToUnsigned<D>;
using Words = hn::Vec<DW>;

struct TwoWords {
  Words first, second;
};

#if HWY_TARGET == HWY_SCALAR

/// One lane holds no counter: the plain function does.
class PhiloxVectors {
 public:
  PhiloxVectors(uint64_t key, uint64_t sequence) : key_(key), sequence_(sequence) {}
  TwoWords at(uint64_t word) const {
    return {hn::Set(DW(), random_word(key_, sequence_, word)),
            hn::Set(DW(), random_word(key_, sequence_, word + 1))};
  }

 private:
  uint64_t key_, sequence_;
};

#else

using DC = hn::RepartitionToWide<DW>;
using Counters = hn::Vec<DC>;

/// random_word(key, sequence, ...) for a fixed key and sequence.
class PhiloxVectors {
 public:
  PhiloxVectors(uint64_t key, uint64_t sequence) : sequence_(sequence) {
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < kRounds; ++round) {
      keys_[round][0] = k0;
      keys_[round][1] = k1;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
  }

  /// Words `word`, `word` + 1, ...: two vectors full. REQUIRES: word is a multiple of 4.
  HWY_INLINE TwoWords at(uint64_t word) const {
    const DC dc;
    const Counters low = hn::Add(hn::Set(dc, word / 4), lane_counters());
    const Counters m0 = hn::Set(dc, 0xD2511F53ull), m1 = hn::Set(dc, 0xCD9E8D57ull);
    Counters x0 = low, x1 = hn::ShiftRight<32>(low);
    Counters x2 = hn::Set(dc, sequence_), x3 = hn::Set(dc, sequence_ >> 32);
    for (int round = 0; round < kRounds; ++round) {
      const Counters a = times(m0, x0), b = times(m1, x2);
      x0 = hn::Xor3(hn::ShiftRight<32>(b), x1, hn::Set(dc, keys_[round][0]));
      x1 = b;
      x2 = hn::Xor3(hn::ShiftRight<32>(a), x3, hn::Set(dc, keys_[round][1]));
      x3 = a;
    }
    // Lanes 2i and 2i + 1 hold counters i and N/2 + i, so interleaving leaves them in order.
    const Counters w01 = pack(x0, x1), w23 = pack(x2, x3);
    return {hn::BitCast(DW(), hn::InterleaveLower(dc, w01, w23)),
            hn::BitCast(DW(), hn::InterleaveUpper(dc, w01, w23))};
  }

 private:
  static constexpr int kRounds = 10;

  static HWY_INLINE Counters lane_counters() {
    const DC dc;
    const Counters lane = hn::Iota(dc, 0), half = hn::Set(dc, hn::Lanes(dc) / 2);
    const Counters odd = hn::And(lane, hn::Set(dc, 1));
    const Counters is_odd = hn::Sub(hn::Zero(dc), odd);
    return hn::Add(hn::ShiftRight<1>(lane), hn::And(is_odd, half));
  }

  static HWY_INLINE Counters times(Counters a, Counters b) {
    return hn::MulEven(hn::BitCast(DW(), a), hn::BitCast(DW(), b));
  }

  /// The low half of `low` below the low half of `high`.
  static HWY_INLINE Counters pack(Counters low, Counters high) {
    return hn::Or(hn::And(low, hn::Set(DC(), 0xFFFFFFFFull)), hn::ShiftLeft<32>(high));
  }

  uint64_t sequence_;
  uint64_t keys_[kRounds][2];
};

#endif

}  // namespace tapemeasure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
