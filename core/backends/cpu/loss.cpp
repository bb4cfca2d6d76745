// SPDX-License-Identifier: MIT
// Cross-entropy, a row at a time: one pass for the maximum, one for the exponentials, one to turn
// them into the gradient where they lie.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/backends/cpu/loss.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include "core/backends/cpu/cpu_backend.h"
#include "core/backends/cpu/f32.h"
#include "core/backends/cpu/parallel.h"
#include "core/backends/cpu/simd_inl.h"
#include "core/backends/kernel_support.h"

namespace tapemeasure::cpu {
#ifndef TAPEMEASURE_LOSS_TYPES
#define TAPEMEASURE_LOSS_TYPES
struct LossCall {
  const float* logits;
  const int32_t* targets;
  double smoothing, factor;
  float *losses, *gradient;  // gradient may be null, or logits
  int64_t V;
};
#endif
}  // namespace tapemeasure::cpu

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu::HWY_NAMESPACE {

HWY_INLINE float largest(D d, const float* z, int64_t count) {
  V top = hn::Set(d, -std::numeric_limits<float>::infinity());
  const V floor = top;
  for_vectors(d, count, [&](int64_t i, auto lanes) HWY_ATTR {
    // Lanes that take no part load 0, which may be the largest: put the floor there.
    const V taking_part = lanes.keep(d, hn::Set(d, 1.f));
    const V v = lanes.load(d, z + i);
    top = hn::Max(top, hn::IfThenElse(hn::Eq(taking_part, hn::Zero(d)), floor, v));
  });
  return hn::GetLane(hn::MaxOfLanes(d, top));
}

/// dz = dz * scale - share, where dz holds the exponentials.
HWY_INLINE void finish_gradient(D d, float* dz, float scale, float share, int64_t count) {
  const V s = hn::Set(d, scale), e = hn::Set(d, share);
  for_vectors(d, count, [&](int64_t i, auto lanes) HWY_ATTR {
    lanes.store(d, hn::MulSub(lanes.load(d, dz + i), s, e), dz + i);
  });
}

/// The formula is in reference/loss.cpp.
void loss_row(const LossCall& call, int64_t n) {
  const D d;
  const int64_t size = call.V, target = call.targets[n];
  const float* z = call.logits + n * size;
  float* dz = call.gradient == nullptr ? nullptr : call.gradient + n * size;
  if (target < 0) {
    call.losses[n] = 0;
    if (dz != nullptr) std::fill(dz, dz + size, 0.f);
    return;
  }
  const double wanted = z[target], e = call.smoothing;
  double mean = 0;
  if (e > 0) {
    mean =
        sum_terms(d, size, [&](int64_t i, auto lanes) HWY_ATTR { return lanes.load(d, z + i); }) /
        static_cast<double>(size);
  }
  const float top = largest(d, z, size);
  const V top_of_row = hn::Set(d, top);
  const double sum = sum_terms(d, size, [&](int64_t i, auto lanes) HWY_ATTR {
    const V power = exponential(d, hn::Sub(lanes.load(d, z + i), top_of_row));
    if (dz != nullptr) lanes.store(d, power, dz + i);
    return lanes.keep(d, power);
  });
  double loss = top + std::log(sum) - (1 - e) * wanted;
  if (e > 0) loss -= e * mean;
  call.losses[n] = static_cast<float>(loss);
  if (dz == nullptr) return;
  // At the target 1 - e is taken off in double, or a sure prediction's gradient would be rounding.
  const double share = e / static_cast<double>(size);
  const double at_target = dz[target] / sum - (1 - e) - share;
  finish_gradient(d, dz, static_cast<float>(call.factor / sum),
                  static_cast<float>(call.factor * share), size);
  dz[target] = static_cast<float>(call.factor * at_target);
}

void loss_rows(const LossCall& call, int64_t begin, int64_t end) {
  for (int64_t n = begin; n < end; ++n) loss_row(call, n);
}

}  // namespace tapemeasure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapemeasure {
namespace cpu {
HWY_EXPORT(loss_rows);
}  // namespace cpu

void CpuBackend::cross_entropy(const Tensor& logits, const Tensor& targets, double smoothing,
                               double factor, const Tensor& losses, const Tensor& gradient) {
  const cpu::LossCall call{cpu::f32(logits), targets.data<int32_t>(),    smoothing,         factor,
                           cpu::f32(losses), cpu::f32_or_null(gradient), columns_of(logits)};
  cpu::parallel_ranges(threads_, rows_of(logits), logits.count(), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(cpu::loss_rows)(call, begin, end);
  });
}

}  // namespace tapemeasure
#endif
