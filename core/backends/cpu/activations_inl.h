// SPDX-License-Identifier: MIT
// The activations on vectors: each gives its value and its slope at x. NaN passes through.
#if defined(TAPEMEASURE_CORE_BACKENDS_CPU_ACTIVATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEMEASURE_CORE_BACKENDS_CPU_ACTIVATIONS_INL_H_
#undef TAPEMEASURE_CORE_BACKENDS_CPU_ACTIVATIONS_INL_H_
#else
#define TAPEMEASURE_CORE_BACKENDS_CPU_ACTIVATIONS_INL_H_
#endif

#include "core/backend.h"
#include "core/backends/cpu/simd_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu::HWY_NAMESPACE {

struct Point {
  V value, slope;
};

/// c[0] x^n + ... + c[n], Horner.
template <size_t kSize>
HWY_INLINE V polynomial(D d, V x, const float (&c)[kSize]) {
  V y = hn::Set(d, c[0]);
  for (size_t i = 1; i < kSize; ++i) y = hn::MulAdd(y, x, hn::Set(d, c[i]));
  return y;
}

struct Relu {
  static HWY_INLINE Point at(D d, V x) {
    const V zero = hn::Zero(d);
    return {hn::IfThenElse(hn::Lt(x, zero), zero, x),
            hn::IfThenElseZero(hn::Gt(x, zero), hn::Set(d, 1.f))};
  }
  static HWY_INLINE V value(D d, V x) { return at(d, x).value; }
};

/// Phi(-t) = e^(-t^2/2) P(t) / Q(t) for t >= 0: Hart et al. 1968, "Computer approximations", 5666,
/// as printed by West 2005, "Better approximations to cumulative normal functions". All its terms
/// are positive, so that nothing cancels in f32; beyond 14 it is below 1e-43.
struct Gelu {
  struct Normal {
    V cumulative, exponential;  // Phi(x) and e^(-x^2/2)
  };
  static HWY_INLINE Normal normal(D d, V x) {
    constexpr float kP[] = {3.52624965998911e-2f, 0.700383064443688f, 6.37396220353165f,
                            33.912866078383f,     112.079291497871f,  221.213596169931f,
                            220.206867912376f};
    constexpr float kQ[] = {8.83883476483184e-2f, 1.75566716318264f, 16.064177579207f,
                            86.7807322029461f,    296.564248779674f, 637.333633378831f,
                            793.826512519948f,    440.413735824752f};
    const V t = hn::Min(hn::Abs(x), hn::Set(d, 14.f));
    const V e = hn::Exp(d, hn::Mul(hn::Mul(t, t), hn::Set(d, -0.5f)));
    const V tail = hn::Div(hn::Mul(e, polynomial(d, t, kP)), polynomial(d, t, kQ));
    const V rest = hn::Sub(hn::Set(d, 1.f), tail);
    return {hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, rest), e};
  }
  static HWY_INLINE V value(D d, V x) { return hn::Mul(x, normal(d, x).cumulative); }
  static HWY_INLINE Point at(D d, V x) {
    const Normal n = normal(d, x);
    const V density = hn::Mul(n.exponential, hn::Set(d, 0.398942280401433f));  // 1 / sqrt(2 pi)
    return {hn::Mul(x, n.cumulative), hn::MulAdd(x, density, n.cumulative)};
  }
};

/// x (1 + tanh u) / 2 = x logistic(2u), u = sqrt(2 / pi) (x + 0.044715 x^3).
struct GeluTanh {
  static constexpr float kRoot = 0.797884560802865f, kCube = 0.044715f;
  static HWY_INLINE V gate(D d, V x, V square) {
    const V inner = hn::MulAdd(square, hn::Set(d, 2 * kRoot * kCube), hn::Set(d, 2 * kRoot));
    return logistic(d, hn::Mul(x, inner));
  }
  static HWY_INLINE V value(D d, V x) { return hn::Mul(x, gate(d, x, hn::Mul(x, x))); }
  static HWY_INLINE Point at(D d, V x) {
    const V square = hn::Mul(x, x), s = gate(d, x, square), value = hn::Mul(x, s);
    const V du = hn::MulAdd(square, hn::Set(d, 6 * kRoot * kCube), hn::Set(d, 2 * kRoot));
    // Far out du is huge where 1 - s is 0: the clamp keeps their product from becoming NaN.
    const V bend = hn::Mul(hn::Sub(hn::Set(d, 1.f), s), hn::Min(du, hn::Set(d, 1e18f)));
    return {value, hn::MulAdd(value, bend, s)};
  }
};

struct Silu {
  static HWY_INLINE V value(D d, V x) { return hn::Mul(x, logistic(d, x)); }
  static HWY_INLINE Point at(D d, V x) {
    const V s = logistic(d, x), value = hn::Mul(x, s);
    return {value, hn::MulAdd(value, hn::Sub(hn::Set(d, 1.f), s), s)};
  }
};

/// Calls body with the activation's type.
template <class Body>
HWY_INLINE void with_activation(Activation kind, const Body& body) {
  switch (kind) {
    case Activation::kRelu:
      return body(Relu());
    case Activation::kGelu:
      return body(Gelu());
    case Activation::kGeluTanh:
      return body(GeluTanh());
    case Activation::kSilu:
      return body(Silu());
  }
}

}  // namespace tapemeasure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
