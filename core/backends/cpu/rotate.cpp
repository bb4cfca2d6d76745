// SPDX-License-Identifier: MIT
// Rotary positions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/backends/cpu/rotate.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/backends/cpu/cpu_backend.h"
#include "core/backends/cpu/f32.h"
#include "core/backends/cpu/parallel.h"
#include "core/backends/cpu/simd_inl.h"
#include "core/backends/kernel_support.h"

namespace tapemeasure::cpu {
#ifndef TAPEMEASURE_ROTATE_TYPES
#define TAPEMEASURE_ROTATE_TYPES
/// One row of heads: its vectors and its row of the table.
struct RotateRow {
  const float *x, *cosine, *sine;
  float* y;
  int64_t pairs, heads, width;
  bool interleaved, inverse, add;
};
#endif
}  // namespace tapemeasure::cpu

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu::HWY_NAMESPACE {

struct Pair {
  V a, b;
};

/// (a, b) -> (a cos - b sin, a sin + b cos).
HWY_INLINE Pair turn(V a, V b, V c, V s) {
  return {hn::NegMulAdd(b, s, hn::Mul(a, c)), hn::MulAdd(a, s, hn::Mul(b, c))};
}

void rotate_halves(const RotateRow& row, const float* x, float* y) {
  const D d;
  for_vectors(d, row.pairs, [&](int64_t f, auto lanes) HWY_ATTR {
    const V s = lanes.load(d, row.sine + f);
    const Pair p = turn(lanes.load(d, x + f), lanes.load(d, x + row.pairs + f),
                        lanes.load(d, row.cosine + f), row.inverse ? hn::Neg(s) : s);
    put(d, lanes, p.a, y + f, row.add);
    put(d, lanes, p.b, y + row.pairs + f, row.add);
  });
}

/// Interleaves p into 2 N floats at y.
HWY_INLINE void put_interleaved(D d, Pair p, float* y, bool add) {
  if (add) {
    V a, b;
    hn::LoadInterleaved2(d, y, a, b);
    p = {hn::Add(a, p.a), hn::Add(b, p.b)};
  }
  hn::StoreInterleaved2(p.a, p.b, d, y);
}

void rotate_interleaved(const RotateRow& row, const float* x, float* y) {
  const D d;
  const int64_t N = static_cast<int64_t>(hn::Lanes(d));
  for_vectors(d, row.pairs, [&](int64_t f, auto lanes) HWY_ATTR {
    const V s = lanes.load(d, row.sine + f), sine = row.inverse ? hn::Neg(s) : s;
    const V cosine = lanes.load(d, row.cosine + f);
    V a, b;
    if (f + N <= row.pairs) {
      hn::LoadInterleaved2(d, x + 2 * f, a, b);
      return put_interleaved(d, turn(a, b, cosine, sine), y + 2 * f, row.add);
    }
    // The tail goes through a buffer; its unused lanes are garbage that is not copied back.
    HWY_ALIGN float in[2 * HWY_MAX_BYTES / sizeof(float)] = {};
    HWY_ALIGN float out[2 * HWY_MAX_BYTES / sizeof(float)];
    const size_t bytes = static_cast<size_t>(2 * (row.pairs - f)) * sizeof(float);
    __builtin_memcpy(in, x + 2 * f, bytes);
    __builtin_memcpy(out, y + 2 * f, bytes);
    hn::LoadInterleaved2(d, in, a, b);
    put_interleaved(d, turn(a, b, cosine, sine), out, row.add);
    __builtin_memcpy(y + 2 * f, out, bytes);
  });
}

void rotate_row(const RotateRow& row) {
  const D d;
  for (int64_t h = 0; h < row.heads; ++h) {
    const float* x = row.x + h * row.width;
    float* y = row.y + h * row.width;
    row.interleaved ? rotate_interleaved(row, x, y) : rotate_halves(row, x, y);
    const int64_t rotated = 2 * row.pairs;
    for_vectors(d, row.width - rotated, [&](int64_t i, auto lanes) HWY_ATTR {
      put(d, lanes, lanes.load(d, x + rotated + i), y + rotated + i, row.add);
    });
  }
}

}  // namespace tapemeasure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapemeasure {
namespace cpu {
HWY_EXPORT(rotate_row);
}  // namespace cpu

void CpuBackend::rotate(const Rotation& how, const HeadRows& x, const HeadRows& y, Write write) {
  const int64_t pairs = columns_of(how.cosine), rows = sequences_of(x) * how.rows;
  const float* from = cpu::f32(x.tensor) + x.first_column;
  float* to = cpu::f32(y.tensor) + y.first_column;
  const float *cosine = cpu::f32(how.cosine), *sine = cpu::f32(how.sine);
  const int64_t work = rows * how.heads * how.width;
  cpu::parallel_ranges(threads_, rows, work, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const int64_t b = n / how.rows, t = n % how.rows, row = how.first_row + t;
      HWY_DYNAMIC_DISPATCH(cpu::rotate_row)
      ({.x = from + (b * x.rows + t) * columns_of(x.tensor),
        .cosine = cosine + row * pairs,
        .sine = sine + row * pairs,
        .y = to + (b * y.rows + t) * columns_of(y.tensor),
        .pairs = pairs,
        .heads = how.heads,
        .width = how.width,
        .interleaved = how.interleaved,
        .inverse = how.inverse,
        .add = write == Write::kAdd});
    }
  });
}

}  // namespace tapemeasure
#endif
