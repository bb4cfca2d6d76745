// SPDX-License-Identifier: MIT
// SGD and AdamW, each in one pass. The formulas are in reference/updates.cpp.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/backends/cpu/updates.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "core/backends/cpu/cpu_backend.h"
#include "core/backends/cpu/f32.h"
#include "core/backends/cpu/parallel.h"
#include "core/backends/cpu/simd_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu::HWY_NAMESPACE {

HWY_INLINE V set(D d, double value) { return hn::Set(d, static_cast<float>(value)); }

void sgd_elements(const SgdStep& step, const float* gradient, float* p, float* buffer,
                  int64_t count) {
  const D d;
  const V scale = set(d, step.gradient_scale), decay = set(d, step.decay);
  const V momentum = set(d, step.momentum), rate = set(d, step.rate);
  for_vectors(d, count, [&](int64_t i, auto lanes) HWY_ATTR {
    const V p_i = lanes.load(d, p + i);
    const V g = hn::MulAdd(decay, p_i, hn::Mul(scale, lanes.load(d, gradient + i)));
    V update = g;
    if (buffer != nullptr) {
      const V b = step.first ? g : hn::MulAdd(momentum, lanes.load(d, buffer + i), g);
      lanes.store(d, b, buffer + i);
      update = step.nesterov ? hn::MulAdd(momentum, b, g) : b;
    }
    lanes.store(d, hn::NegMulAdd(rate, update, p_i), p + i);
  });
}

void adamw_elements(const AdamwStep& step, const float* gradient, float* p, float* m, float* v,
                    int64_t count) {
  const D d;
  const double correct1 = 1 - std::pow(step.beta1, static_cast<double>(step.count));
  const double correct2 = 1 - std::pow(step.beta2, static_cast<double>(step.count));
  const V scale = set(d, step.gradient_scale), epsilon = set(d, step.epsilon);
  const V beta1 = set(d, step.beta1), rest1 = set(d, 1 - step.beta1);
  const V beta2 = set(d, step.beta2), rest2 = set(d, 1 - step.beta2);
  const V decay = set(d, step.rate * step.decay), rate = set(d, step.rate / correct1);
  const V root = set(d, 1 / std::sqrt(correct2));
  for_vectors(d, count, [&](int64_t i, auto lanes) HWY_ATTR {
    const V g = hn::Mul(scale, lanes.load(d, gradient + i)), p_i = lanes.load(d, p + i);
    const V first = hn::MulAdd(beta1, lanes.load(d, m + i), hn::Mul(rest1, g));
    const V second = hn::MulAdd(beta2, lanes.load(d, v + i), hn::Mul(rest2, hn::Mul(g, g)));
    const V deviation = hn::MulAdd(hn::Sqrt(second), root, epsilon);
    const V decayed = hn::NegMulAdd(decay, p_i, p_i);
    lanes.store(d, hn::NegMulAdd(rate, hn::Div(first, deviation), decayed), p + i);
    lanes.store(d, first, m + i);
    lanes.store(d, second, v + i);
  });
}

}  // namespace tapemeasure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapemeasure {
namespace cpu {
HWY_EXPORT(sgd_elements);
HWY_EXPORT(adamw_elements);
}  // namespace cpu

void CpuBackend::sgd(const SgdStep& step, const Tensor& gradient, const Tensor& parameter,
                     const Tensor& buffer) {
  const float* g = cpu::f32(gradient);
  float *p = cpu::f32(parameter), *b = cpu::f32_or_null(buffer);
  cpu::parallel_elements(threads_, parameter.count(), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(cpu::sgd_elements)
    (step, g + begin, p + begin, b == nullptr ? nullptr : b + begin, end - begin);
  });
}

void CpuBackend::adamw(const AdamwStep& step, const Tensor& gradient, const Tensor& parameter,
                       const Tensor& first_moment, const Tensor& second_moment) {
  const float* g = cpu::f32(gradient);
  float *p = cpu::f32(parameter), *m = cpu::f32(first_moment), *v = cpu::f32(second_moment);
  cpu::parallel_elements(threads_, parameter.count(), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(cpu::adamw_elements)
    (step, g + begin, p + begin, m + begin, v + begin, end - begin);
  });
}

}  // namespace tapemeasure
#endif
