// SPDX-License-Identifier: MIT
// What the vector kernels share. Included once per instruction set, inside which each kernel file
// is compiled (Highway's foreach_target); hence the toggled guard.
#if defined(TAPEMEASURE_CORE_BACKENDS_CPU_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEMEASURE_CORE_BACKENDS_CPU_SIMD_INL_H_
#undef TAPEMEASURE_CORE_BACKENDS_CPU_SIMD_INL_H_
#else
#define TAPEMEASURE_CORE_BACKENDS_CPU_SIMD_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// All lanes of a vector take part.
struct Whole {
  HWY_INLINE V load(D d, const float* from) const { return hn::LoadU(d, from); }
  HWY_INLINE void store(D d, V v, float* to) const { hn::StoreU(v, d, to); }
  HWY_INLINE V keep(D, V v) const { return v; }
};

/// The first `count` lanes take part: others are loaded as 0 and not stored.
struct Part {
  size_t count;
  HWY_INLINE V load(D d, const float* from) const {
    return hn::MaskedLoad(hn::FirstN(d, count), d, from);
  }
  HWY_INLINE void store(D d, V v, float* to) const {
    hn::BlendedStore(v, hn::FirstN(d, count), d, to);
  }
  /// 0 in the lanes that take no part.
  HWY_INLINE V keep(D d, V v) const { return hn::IfThenElseZero(hn::FirstN(d, count), v); }
};

/// Stores v, or adds it to what is there.
template <class Lanes>
HWY_INLINE void put(D d, Lanes lanes, V v, float* to, bool add) {
  lanes.store(d, add ? hn::Add(lanes.load(d, to), v) : v, to);
}

/// Calls body(i, lanes) for each vector of `count` elements; lanes is Whole, at the end a Part.
template <class Body>
HWY_INLINE void for_vectors(D d, int64_t count, const Body& body) {
  const int64_t N = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + N <= count; i += N) body(i, Whole());
  if (i < count) body(i, Part{static_cast<size_t>(count - i)});
}

/// Rows are summed in f32 over pieces of this length, the pieces in double.
inline constexpr int64_t kPiece = 4096;

HWY_INLINE float sum_of(D d, V v) { return hn::GetLane(hn::SumOfLanes(d, v)); }

/// sum over i of term(i, lanes), which is 0 in lanes that take no part.
template <class Term>
HWY_INLINE double sum_terms(D d, int64_t count, const Term& term) {
  double total = 0;
  for (int64_t first = 0; first < count; first += kPiece) {
    V sum = hn::Zero(d);
    const int64_t length = HWY_MIN(kPiece, count - first);
    for_vectors(d, length, [&](int64_t i, auto lanes) HWY_ATTR {
      sum = hn::Add(sum, term(first + i, lanes));
    });
    total += sum_of(d, sum);
  }
  return total;
}

/// e^x for x <= 88. Unlike Highway's, it passes NaN on: a diverged run must not look sound.
HWY_INLINE V exponential(D d, V x) { return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x)); }

/// 1 / (1 + e^-x).
HWY_INLINE V logistic(D d, V x) {
  const V one = hn::Set(d, 1.f);
  const V e = hn::Exp(d, hn::Min(hn::Neg(x), hn::Set(d, 88.f)));
  return hn::Div(one, hn::Add(one, e));
}

}  // namespace tapemeasure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
