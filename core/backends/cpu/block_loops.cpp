// SPDX-License-Identifier: MIT
#include "core/backends/cpu/block_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/backends/cpu/block_loops.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/backends/cpu/simd_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
/// Transposes 4 x 4 numbers.
template <bool kAdd>
HWY_INLINE void transpose_4(const float* x, int64_t x_stride, float* y, int64_t y_stride) {
  const hn::FixedTag<float, 4> d;
  const hn::Repartition<double, decltype(d)> d64;
  const auto a = hn::LoadU(d, x), b = hn::LoadU(d, x + x_stride);
  const auto c = hn::LoadU(d, x + 2 * x_stride), e = hn::LoadU(d, x + 3 * x_stride);
  const auto ab_low = hn::BitCast(d64, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(d64, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(d64, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(d64, hn::InterleaveUpper(d, c, e));
  const auto put = [&](auto row, int64_t r) HWY_ATTR {
    auto value = hn::BitCast(d, row);
    if constexpr (kAdd) value = hn::Add(value, hn::LoadU(d, y + r * y_stride));
    hn::StoreU(value, d, y + r * y_stride);
  };
  put(hn::InterleaveLower(d64, ab_low, ce_low), 0);
  put(hn::InterleaveUpper(d64, ab_low, ce_low), 1);
  put(hn::InterleaveLower(d64, ab_high, ce_high), 2);
  put(hn::InterleaveUpper(d64, ab_high, ce_high), 3);
}
#endif

template <bool kAdd>
void transpose_scalar(const float* x, int64_t x_stride, int64_t rows, int64_t columns, float* y,
                      int64_t y_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      float& to = y[c * y_stride + r];
      to = kAdd ? to + x[r * x_stride + c] : x[r * x_stride + c];
    }
  }
}

template <bool kAdd>
void transpose_as(const float* x, int64_t x_stride, int64_t rows, int64_t columns, float* y,
                  int64_t y_stride) {
#if HWY_TARGET == HWY_SCALAR
  const int64_t whole_rows = 0, whole_columns = 0;
#else
  const int64_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  for (int64_t c = 0; c < whole_columns; c += 4) {
    for (int64_t r = 0; r < whole_rows; r += 4) {
      transpose_4<kAdd>(x + r * x_stride + c, x_stride, y + c * y_stride + r, y_stride);
    }
  }
#endif
  transpose_scalar<kAdd>(x + whole_columns, x_stride, whole_rows, columns - whole_columns,
                         y + whole_columns * y_stride, y_stride);
  transpose_scalar<kAdd>(x + whole_rows * x_stride, x_stride, rows - whole_rows, columns,
                         y + whole_rows, y_stride);
}

void transpose(const float* x, int64_t x_stride, int64_t rows, int64_t columns, float* y,
               int64_t y_stride, Write write) {
  if (write == Write::kAdd) return transpose_as<true>(x, x_stride, rows, columns, y, y_stride);
  transpose_as<false>(x, x_stride, rows, columns, y, y_stride);
}

void scale_rows(const float* x, int64_t x_stride, const float* shift, float factor, int64_t rows,
                int64_t width, float* y, int64_t y_stride, Write write) {
  const D d;
  const V f = hn::Set(d, factor);
  for (int64_t r = 0; r < rows; ++r, x += x_stride, y += y_stride) {
    for_vectors(d, width, [&](int64_t c, auto lanes) HWY_ATTR {
      V v = lanes.load(d, x + c);
      if (shift) v = hn::Add(v, lanes.load(d, shift + c));
      put(d, lanes, hn::Mul(f, v), y + c, write == Write::kAdd);
    });
  }
}

void scale_each_row(const float* x, int64_t x_stride, const float* factors, int64_t rows,
                    int64_t width, float* y, int64_t y_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    scale_rows(x + r * x_stride, 0, nullptr, factors[r], 1, width, y + r * y_stride, 0,
               Write::kSet);
  }
}

void clear_rows(int64_t rows, int64_t width, float* y, int64_t y_stride) {
  const D d;
  for (int64_t r = 0; r < rows; ++r, y += y_stride) {
    for_vectors(d, width,
                [&](int64_t c, auto lanes) HWY_ATTR { lanes.store(d, hn::Zero(d), y + c); });
  }
}

/// x . z, by lanes and then their sum.
HWY_INLINE float dot(const float* x, const float* z, int64_t width) {
  const D d;
  V sum = hn::Zero(d);
  for_vectors(d, width, [&](int64_t c, auto lanes) HWY_ATTR {
    sum = hn::MulAdd(lanes.load(d, x + c), lanes.load(d, z + c), sum);
  });
  return sum_of(d, sum);
}

void dot_rows(const float* x, int64_t x_stride, const float* z, int64_t z_stride, int64_t rows,
              int64_t width, float* y) {
  for (int64_t r = 0; r < rows; ++r) y[r] = dot(x + r * x_stride, z + r * z_stride, width);
}

void add_outer(const float* weights, const float* z, int64_t rows, int64_t width, float* y,
               int64_t y_stride) {
  const D d;
  for (int64_t r = 0; r < rows; ++r, y += y_stride) {
    const V weight = hn::Set(d, weights[r]);
    for_vectors(d, width, [&](int64_t c, auto lanes) HWY_ATTR {
      const V sum = hn::MulAdd(weight, lanes.load(d, z + c), lanes.load(d, y + c));
      lanes.store(d, sum, y + c);
    });
  }
}

void add_weighted_rows(const float* weights, const float* x, int64_t x_stride, int64_t rows,
                       int64_t width, float* y) {
  const D d;
  for_vectors(d, width, [&](int64_t c, auto lanes) HWY_ATTR {
    V sum = lanes.load(d, y + c);
    for (int64_t r = 0; r < rows; ++r) {
      const V weight = hn::Set(d, weights ? weights[r] : 1.0f);
      sum = hn::MulAdd(weight, lanes.load(d, x + r * x_stride + c), sum);
    }
    lanes.store(d, sum, y + c);
  });
}

}  // namespace tapemeasure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapemeasure::cpu {
HWY_EXPORT(transpose);
HWY_EXPORT(scale_rows);
HWY_EXPORT(scale_each_row);
HWY_EXPORT(clear_rows);
HWY_EXPORT(dot_rows);
HWY_EXPORT(add_outer);
HWY_EXPORT(add_weighted_rows);

void transpose(const float* x, int64_t x_stride, int64_t rows, int64_t columns, float* y,
               int64_t y_stride, Write write) {
  HWY_DYNAMIC_DISPATCH(transpose)(x, x_stride, rows, columns, y, y_stride, write);
}
void scale_rows(const float* x, int64_t x_stride, const float* shift, float factor, int64_t rows,
                int64_t width, float* y, int64_t y_stride, Write write) {
  HWY_DYNAMIC_DISPATCH(scale_rows)(x, x_stride, shift, factor, rows, width, y, y_stride, write);
}
void scale_each_row(const float* x, int64_t x_stride, const float* factors, int64_t rows,
                    int64_t width, float* y, int64_t y_stride) {
  HWY_DYNAMIC_DISPATCH(scale_each_row)(x, x_stride, factors, rows, width, y, y_stride);
}
void dot_rows(const float* x, int64_t x_stride, const float* z, int64_t z_stride, int64_t rows,
              int64_t width, float* y) {
  HWY_DYNAMIC_DISPATCH(dot_rows)(x, x_stride, z, z_stride, rows, width, y);
}
void clear_rows(int64_t rows, int64_t width, float* y, int64_t y_stride) {
  HWY_DYNAMIC_DISPATCH(clear_rows)(rows, width, y, y_stride);
}
void add_outer(const float* weights, const float* z, int64_t rows, int64_t width, float* y,
               int64_t y_stride) {
  HWY_DYNAMIC_DISPATCH(add_outer)(weights, z, rows, width, y, y_stride);
}
void add_weighted_rows(const float* weights, const float* x, int64_t x_stride, int64_t rows,
                       int64_t width, float* y) {
  HWY_DYNAMIC_DISPATCH(add_weighted_rows)(weights, x, x_stride, rows, width, y);
}

}  // namespace tapemeasure::cpu
#endif
