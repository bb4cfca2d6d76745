// SPDX-License-Identifier: MIT
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/backends/cpu/bf16.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/backends/cpu/bf16.h"

#include "core/backends/cpu/parallel.h"
#include "core/backends/cpu/simd_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu::HWY_NAMESPACE {

using DBits = hn::RebindToUnsigned<D>;
using DHalf = hn::Rebind<uint16_t, DBits>;

/// The bits of v's bf16, in the lower half of each lane. Half of the last place that stays, less
/// one where that place is even, carries upwards; a NaN keeps its upper half, made quiet.
HWY_INLINE hn::Vec<DBits> half_of(V v) {
  const DBits bits;
  const auto x = hn::BitCast(bits, v);
  const auto odd = hn::And(hn::ShiftRight<16>(x), hn::Set(bits, 1u));
  const auto rounded = hn::Add(x, hn::Add(odd, hn::Set(bits, 0x7fffu)));
  const auto quiet = hn::Or(x, hn::Set(bits, 0x400000u));
  const auto is_nan = hn::RebindMask(bits, hn::IsNaN(v));
  return hn::ShiftRight<16>(hn::IfThenElse(is_nan, quiet, rounded));
}

void narrow(const float* from, int64_t count, uint16_t* to) {
  const D d;
  const hn::RebindToSigned<DBits> sign;
  const DHalf half;
  const int64_t N = static_cast<int64_t>(hn::Lanes(d));
  const auto narrowed = [&](V v)
                            HWY_ATTR { return hn::DemoteTo(half, hn::BitCast(sign, half_of(v))); };
  int64_t i = 0;
  for (; i + N <= count; i += N) hn::StoreU(narrowed(hn::LoadU(d, from + i)), half, to + i);
  if (i == count) return;
  HWY_ALIGN uint16_t last[hn::MaxLanes(d)];
  hn::StoreU(narrowed(Part{static_cast<size_t>(count - i)}.load(d, from + i)), half, last);
  for (int64_t j = i; j < count; ++j) to[j] = last[j - i];
}

void round_halves(const float* from, int64_t count, float* to) {
  const D d;
  for_vectors(d, count, [&](int64_t i, auto lanes) HWY_ATTR {
    const auto half = half_of(lanes.load(d, from + i));
    lanes.store(d, hn::BitCast(d, hn::ShiftLeft<16>(half)), to + i);
  });
}

}  // namespace tapemeasure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapemeasure::cpu {
HWY_EXPORT(narrow);
HWY_EXPORT(round_halves);

void to_bf16(int threads, const float* from, int64_t count, uint16_t* to) {
  parallel_elements(threads, count, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(narrow)(from + begin, end - begin, to + begin);
  });
}

void round_to_bf16(int threads, const float* from, int64_t count, float* to) {
  parallel_elements(threads, count, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(round_halves)(from + begin, end - begin, to + begin);
  });
}

}  // namespace tapemeasure::cpu
#endif
