// SPDX-License-Identifier: MIT
// Activations and gated units.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/backends/cpu/activation.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/backends/cpu/activations_inl.h"
#include "core/backends/cpu/cpu_backend.h"
#include "core/backends/cpu/f32.h"
#include "core/backends/cpu/parallel.h"

namespace tapemeasure::cpu {
#ifndef TAPEMEASURE_ACTIVATION_OUTPUT
#define TAPEMEASURE_ACTIVATION_OUTPUT
/// Where a range of elements goes; null: nowhere.
struct Output {
  explicit Output(const Into& into)
      : data(f32_or_null(into.tensor)), add(into.write == Write::kAdd) {}
  Output from(int64_t begin) const {
    Output output = *this;
    if (data != nullptr) output.data += begin;
    return output;
  }
  float* data;
  bool add;
};
#endif
}  // namespace tapemeasure::cpu

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu::HWY_NAMESPACE {

void activate(Activation kind, const float* x, Output y, int64_t count) {
  const D d;
  with_activation(kind, [&](auto act) HWY_ATTR {
    for_vectors(d, count, [&](int64_t i, auto lanes) HWY_ATTR {
      put(d, lanes, act.value(d, lanes.load(d, x + i)), y.data + i, y.add);
    });
  });
}

void activate_grad(Activation kind, const float* x, const float* dy, Output dx, int64_t count) {
  const D d;
  with_activation(kind, [&](auto act) HWY_ATTR {
    for_vectors(d, count, [&](int64_t i, auto lanes) HWY_ATTR {
      const V slope = act.at(d, lanes.load(d, x + i)).slope;
      put(d, lanes, hn::Mul(slope, lanes.load(d, dy + i)), dx.data + i, dx.add);
    });
  });
}

void gate(Activation kind, const float* gate, const float* up, Output y, int64_t count) {
  const D d;
  with_activation(kind, [&](auto act) HWY_ATTR {
    for_vectors(d, count, [&](int64_t i, auto lanes) HWY_ATTR {
      const V value = act.value(d, lanes.load(d, gate + i));
      put(d, lanes, hn::Mul(value, lanes.load(d, up + i)), y.data + i, y.add);
    });
  });
}

void gate_grad(Activation kind, const float* gate, const float* up, const float* dy, Output dgate,
               Output dup, int64_t count) {
  const D d;
  with_activation(kind, [&](auto act) HWY_ATTR {
    for_vectors(d, count, [&](int64_t i, auto lanes) HWY_ATTR {
      const Point point = act.at(d, lanes.load(d, gate + i));
      const V dy_i = lanes.load(d, dy + i);
      if (dgate.data != nullptr) {
        const V dact = hn::Mul(lanes.load(d, up + i), dy_i);
        put(d, lanes, hn::Mul(point.slope, dact), dgate.data + i, dgate.add);
      }
      if (dup.data != nullptr) {
        put(d, lanes, hn::Mul(point.value, dy_i), dup.data + i, dup.add);
      }
    });
  });
}

}  // namespace tapemeasure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapemeasure {
namespace cpu {
HWY_EXPORT(activate);
HWY_EXPORT(activate_grad);
HWY_EXPORT(gate);
HWY_EXPORT(gate_grad);
}  // namespace cpu

void CpuBackend::activation(Activation kind, const Tensor& x, const Into& y) {
  const float* from = cpu::f32(x);
  const cpu::Output to(y);
  cpu::parallel_elements(threads_, x.count(), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(cpu::activate)(kind, from + begin, to.from(begin), end - begin);
  });
}

void CpuBackend::activation_grad(Activation kind, const Tensor& x, const Tensor& dy,
                                 const Into& dx) {
  const float *from = cpu::f32(x), *d = cpu::f32(dy);
  const cpu::Output to(dx);
  cpu::parallel_elements(threads_, x.count(), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(cpu::activate_grad)
    (kind, from + begin, d + begin, to.from(begin), end - begin);
  });
}

void CpuBackend::gated(Activation kind, const Tensor& gate, const Tensor& up, const Into& y) {
  const float *g = cpu::f32(gate), *u = cpu::f32(up);
  const cpu::Output to(y);
  cpu::parallel_elements(threads_, gate.count(), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(cpu::gate)(kind, g + begin, u + begin, to.from(begin), end - begin);
  });
}

void CpuBackend::gated_grad(Activation kind, const Tensor& gate, const Tensor& up, const Tensor& dy,
                            const Into& dgate, const Into& dup) {
  const float *g = cpu::f32(gate), *u = cpu::f32(up), *d = cpu::f32(dy);
  const cpu::Output to_gate(dgate), to_up(dup);
  cpu::parallel_elements(threads_, gate.count(), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(cpu::gate_grad)
    (kind, g + begin, u + begin, d + begin, to_gate.from(begin), to_up.from(begin), end - begin);
  });
}

}  // namespace tapemeasure
#endif
