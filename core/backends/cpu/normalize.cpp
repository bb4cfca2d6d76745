// SPDX-License-Identifier: MIT
// LayerNorm and RMSNorm.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/backends/cpu/normalize.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "core/backends/cpu/column_sums.h"
#include "core/backends/cpu/cpu_backend.h"
#include "core/backends/cpu/f32.h"
#include "core/backends/cpu/parallel.h"
#include "core/backends/cpu/simd_inl.h"
#include "core/backends/kernel_support.h"

namespace tapemeasure::cpu {
#ifndef TAPEMEASURE_NORMALIZE_CALLS
#define TAPEMEASURE_NORMALIZE_CALLS
struct NormalizeCall {
  Norm kind;
  double epsilon;
  const float *x, *gain, *bias;  // bias may be null
  float *y, *statistics;
  int64_t width;
};

struct NormalizeGradCall {
  Norm kind;
  const float *x, *gain, *statistics, *dy;
  float* dx;  // or null
  bool add;
  float* partial;  // [blocks, 2, width]: sums of dy z and dy over each block of rows; or null
  int64_t rows, width, block;
};
#endif
}  // namespace tapemeasure::cpu

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu::HWY_NAMESPACE {

void normalize_row(const NormalizeCall& call, int64_t n) {
  const D d;
  const int64_t width = call.width;
  const float* x = call.x + n * width;
  float* y = call.y + n * width;
  float center = 0;
  if (call.kind == Norm::kLayerNorm) {
    center = static_cast<float>(
        sum_terms(d, width, [&](int64_t i, auto lanes) HWY_ATTR { return lanes.load(d, x + i); }) /
        static_cast<double>(width));
  }
  // The rounded mean is only a center; what it misses is added, so that rows far from 0 keep
  // their digits and constant rows give 0.
  const V c = hn::Set(d, center);
  double squares = 0, rest = 0;
  squares = sum_terms(d, width, [&](int64_t i, auto lanes) HWY_ATTR {
    const V off = lanes.keep(d, hn::Sub(lanes.load(d, x + i), c));
    return hn::Mul(off, off);
  });
  if (call.kind == Norm::kLayerNorm) {
    rest = sum_terms(d, width,
                     [&](int64_t i, auto lanes)
                         HWY_ATTR { return lanes.keep(d, hn::Sub(lanes.load(d, x + i), c)); }) /
           static_cast<double>(width);
  }
  const double variance = squares / static_cast<double>(width) - rest * rest;
  const double r = 1 / std::sqrt(std::fmax(variance, 0) + call.epsilon);
  const V scale = hn::Set(d, static_cast<float>(r)), shift = hn::Set(d, static_cast<float>(rest));
  for_vectors(d, width, [&](int64_t i, auto lanes) HWY_ATTR {
    const V z = hn::Mul(hn::Sub(hn::Sub(lanes.load(d, x + i), c), shift), scale);
    const V gain = lanes.load(d, call.gain + i);
    const V bias = call.bias != nullptr ? lanes.load(d, call.bias + i) : hn::Zero(d);
    lanes.store(d, hn::MulAdd(z, gain, bias), y + i);
  });
  call.statistics[2 * n] = static_cast<float>(center + rest);
  call.statistics[2 * n + 1] = static_cast<float>(r);
}

void normalize_rows(const NormalizeCall& call, int64_t begin, int64_t end) {
  for (int64_t n = begin; n < end; ++n) normalize_row(call, n);
}

/// dx = r (g - mean(g) - z mean(g z)) with z = (x - m) r and g = dy gain.
void input_gradient_row(const NormalizeGradCall& call, int64_t n) {
  const D d;
  const int64_t width = call.width;
  const float *x = call.x + n * width, *dy = call.dy + n * width;
  const V mean = hn::Set(d, call.statistics[2 * n]), r = hn::Set(d, call.statistics[2 * n + 1]);
  const auto z = [&](int64_t i, auto lanes)
                     HWY_ATTR { return hn::Mul(hn::Sub(lanes.load(d, x + i), mean), r); };
  const auto g = [&](int64_t i, auto lanes) HWY_ATTR {
    return hn::Mul(lanes.load(d, dy + i), lanes.load(d, call.gain + i));
  };
  double mean_g = 0;
  if (call.kind == Norm::kLayerNorm) mean_g = sum_terms(d, width, g) / static_cast<double>(width);
  const double mean_gz =
      sum_terms(d, width,
                [&](int64_t i, auto lanes) HWY_ATTR { return hn::Mul(g(i, lanes), z(i, lanes)); }) /
      static_cast<double>(width);
  const V first = hn::Set(d, static_cast<float>(mean_g));
  const V second = hn::Set(d, static_cast<float>(mean_gz));
  for_vectors(d, width, [&](int64_t i, auto lanes) HWY_ATTR {
    const V off = hn::NegMulAdd(z(i, lanes), second, hn::Sub(g(i, lanes), first));
    put(d, lanes, hn::Mul(r, off), call.dx + n * width + i, call.add);
  });
}

void add_to_partials(const NormalizeGradCall& call, int64_t n, float* dgain, float* dbias) {
  const D d;
  const float *x = call.x + n * call.width, *dy = call.dy + n * call.width;
  const V mean = hn::Set(d, call.statistics[2 * n]), r = hn::Set(d, call.statistics[2 * n + 1]);
  for_vectors(d, call.width, [&](int64_t i, auto lanes) HWY_ATTR {
    const V z = hn::Mul(hn::Sub(lanes.load(d, x + i), mean), r), dy_i = lanes.load(d, dy + i);
    lanes.store(d, hn::MulAdd(dy_i, z, lanes.load(d, dgain + i)), dgain + i);
    lanes.store(d, hn::Add(lanes.load(d, dbias + i), dy_i), dbias + i);
  });
}

void normalize_grad_blocks(const NormalizeGradCall& call, int64_t begin, int64_t end) {
  for (int64_t block = begin; block < end; ++block) {
    float* dgain = call.partial == nullptr ? nullptr : call.partial + 2 * block * call.width;
    if (dgain != nullptr) std::fill(dgain, dgain + 2 * call.width, 0.f);
    for (int64_t n = block * call.block; n < HWY_MIN(call.rows, (block + 1) * call.block); ++n) {
      if (call.dx != nullptr) input_gradient_row(call, n);
      if (dgain != nullptr) add_to_partials(call, n, dgain, dgain + call.width);
    }
  }
}

}  // namespace tapemeasure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapemeasure {
namespace cpu {
HWY_EXPORT(normalize_rows);
HWY_EXPORT(normalize_grad_blocks);
}  // namespace cpu

void CpuBackend::normalize(Norm kind, double epsilon, const Tensor& x, const Tensor& gain,
                           const Tensor& bias, const Tensor& y, const Tensor& statistics) {
  const cpu::NormalizeCall call{kind,
                                epsilon,
                                cpu::f32(x),
                                cpu::f32(gain),
                                cpu::f32_or_null(bias),
                                cpu::f32(y),
                                cpu::f32(statistics),
                                columns_of(x)};
  cpu::parallel_ranges(threads_, rows_of(x), x.count(), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(cpu::normalize_rows)(call, begin, end);
  });
}

void CpuBackend::normalize_grad(Norm kind, const Tensor& x, const Tensor& gain,
                                const Tensor& statistics, const Tensor& dy, const Into& dx,
                                const Into& dgain, const Into& dbias) {
  const int64_t rows = rows_of(x), width = columns_of(x), block = cpu::block_rows(rows);
  const int64_t blocks = (rows + block - 1) / block;
  const bool sums = dgain.defined() || dbias.defined();
  const Tensor partial = sums ? scratch({blocks, 2 * width}) : Tensor();
  const cpu::NormalizeGradCall call{kind,
                                    cpu::f32(x),
                                    cpu::f32(gain),
                                    cpu::f32(statistics),
                                    cpu::f32(dy),
                                    cpu::f32_or_null(dx.tensor),
                                    dx.write == Write::kAdd,
                                    cpu::f32_or_null(partial),
                                    rows,
                                    width,
                                    block};
  cpu::parallel_ranges(threads_, blocks, x.count(), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(cpu::normalize_grad_blocks)(call, begin, end);
  });
  const auto finish = [&](const Into& into, int64_t first_column) {
    if (!into.defined()) return;
    cpu::column_sums(
        threads_,
        {.x = call.partial + first_column, .rows = blocks, .stride = 2 * width, .columns = width},
        cpu::f32(into.tensor), into.write == Write::kAdd);
  };
  finish(dgain, 0);
  finish(dbias, width);
}

}  // namespace tapemeasure
#endif
