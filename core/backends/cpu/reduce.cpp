// SPDX-License-Identifier: MIT
// Sums, scaling and filling.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/backends/cpu/reduce.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/backends/cpu/column_sums.h"
#include "core/backends/cpu/cpu_backend.h"
#include "core/backends/cpu/f32.h"
#include "core/backends/cpu/parallel.h"
#include "core/backends/cpu/simd_inl.h"
#include "core/backends/kernel_support.h"

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu::HWY_NAMESPACE {

void sum_columns(const Columns& m, float* y, bool add) {
  const D d;
  const V factor = hn::Set(d, m.factor);
  const int64_t N = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + 4 * N <= m.columns; c += 4 * N) {
    V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (int64_t r = 0; r < m.rows; ++r) {
      const float* row = m.x + r * m.stride + c;
      s0 = hn::Add(s0, hn::LoadU(d, row));
      s1 = hn::Add(s1, hn::LoadU(d, row + N));
      s2 = hn::Add(s2, hn::LoadU(d, row + 2 * N));
      s3 = hn::Add(s3, hn::LoadU(d, row + 3 * N));
    }
    put(d, Whole(), hn::Mul(factor, s0), y + c, add);
    put(d, Whole(), hn::Mul(factor, s1), y + c + N, add);
    put(d, Whole(), hn::Mul(factor, s2), y + c + 2 * N, add);
    put(d, Whole(), hn::Mul(factor, s3), y + c + 3 * N, add);
  }
  for_vectors(d, m.columns - c, [&](int64_t i, auto lanes) HWY_ATTR {
    V sum = hn::Zero(d);
    for (int64_t r = 0; r < m.rows; ++r) {
      sum = hn::Add(sum, lanes.load(d, m.x + r * m.stride + c + i));
    }
    put(d, lanes, hn::Mul(factor, sum), y + c + i, add);
  });
}

/// Sum of x, or of its squares, in double.
double sum_block(const float* x, int64_t count, bool squares) {
  const hn::ScalableTag<double> dd;
  const hn::Rebind<float, decltype(dd)> half;
  const int64_t N = static_cast<int64_t>(hn::Lanes(dd));
  auto s0 = hn::Zero(dd), s1 = hn::Zero(dd);
  int64_t i = 0;
  for (; i + 2 * N <= count; i += 2 * N) {
    const auto a = hn::PromoteTo(dd, hn::LoadU(half, x + i));
    const auto b = hn::PromoteTo(dd, hn::LoadU(half, x + i + N));
    s0 = squares ? hn::MulAdd(a, a, s0) : hn::Add(s0, a);
    s1 = squares ? hn::MulAdd(b, b, s1) : hn::Add(s1, b);
  }
  double sum = hn::GetLane(hn::SumOfLanes(dd, hn::Add(s0, s1)));
  for (; i < count; ++i) {
    const double value = x[i];
    sum += squares ? value * value : value;
  }
  return sum;
}

void scale_elements(float factor, const float* x, float* y, bool add, int64_t count) {
  const D d;
  const V f = hn::Set(d, factor);
  for_vectors(d, count, [&](int64_t i, auto lanes) HWY_ATTR {
    put(d, lanes, hn::Mul(f, lanes.load(d, x + i)), y + i, add);
  });
}

}  // namespace tapemeasure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapemeasure {
namespace cpu {
HWY_EXPORT(sum_columns);
HWY_EXPORT(sum_block);
HWY_EXPORT(scale_elements);

void column_sums(int threads, const Columns& matrix, float* y, bool add) {
  constexpr int64_t kUnit = 64;
  const int64_t units = (matrix.columns + kUnit - 1) / kUnit;
  parallel_ranges(threads, units, matrix.rows * matrix.columns, [&](int64_t begin, int64_t end) {
    Columns part = matrix;
    part.x += begin * kUnit;
    part.columns = std::min(end * kUnit, matrix.columns) - begin * kUnit;
    HWY_DYNAMIC_DISPATCH(sum_columns)(part, y + begin * kUnit, add);
  });
}

namespace {

/// Blocks of fixed size, added in order.
double total(int threads, const Tensor& x, double* partial, int64_t block, bool squares) {
  const int64_t blocks = (x.count() + block - 1) / block;
  const float* from = f32(x);
  parallel_ranges(threads, blocks, x.count(), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      partial[b] = HWY_DYNAMIC_DISPATCH(sum_block)(from + b * block,
                                                   std::min(block, x.count() - b * block), squares);
    }
  });
  double sum = 0;
  for (int64_t b = 0; b < blocks; ++b) sum += partial[b];
  return sum;
}

/// Where one side is f64, plain loops do: only checks and optimizers' masters meet it.
template <class From, class To>
void scale_loop(int threads, double factor, const From* x, To* y, Write write, int64_t count) {
  parallel_elements(threads, count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) tapemeasure::put(y[i], write, factor * x[i]);
  });
}

template <class T>
void fill_loop(int threads, const Into& y, double value) {
  T* to = y.tensor.data<T>();
  parallel_elements(threads, y.tensor.count(), [&](int64_t begin, int64_t end) {
    if (y.write == Write::kSet) {
      std::fill(to + begin, to + end, static_cast<T>(value));
    } else {
      for (int64_t i = begin; i < end; ++i) tapemeasure::put(to[i], y.write, value);
    }
  });
}

}  // namespace
}  // namespace cpu

void CpuBackend::fill(const Into& y, double value) {
  if (y.tensor.dtype() == DType::kI32) return cpu::fill_loop<int32_t>(threads_, y, value);
  with_floating(y.tensor.dtype(), [&]<class T>(T) { cpu::fill_loop<T>(threads_, y, value); });
}

void CpuBackend::scale(double factor, const Tensor& x, const Into& y) {
  if (x.dtype() == DType::kF32 && y.tensor.dtype() == DType::kF32) {
    const float* from = cpu::f32(x);
    float* to = cpu::f32(y.tensor);
    return cpu::parallel_elements(threads_, x.count(), [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(cpu::scale_elements)
      (static_cast<float>(factor), from + begin, to + begin, y.write == Write::kAdd, end - begin);
    });
  }
  with_floating(x.dtype(), [&]<class From>(From) {
    with_floating(y.tensor.dtype(), [&]<class To>(To) {
      cpu::scale_loop(threads_, factor, x.data<From>(), y.tensor.data<To>(), y.write, x.count());
    });
  });
}

void CpuBackend::sum_rows(const Tensor& x, const Into& y) {
  const int64_t rows = rows_of(x), columns = columns_of(x), block = cpu::block_rows(rows);
  const int64_t blocks = (rows + block - 1) / block;
  const Tensor partial = scratch({blocks, columns});
  const float* from = cpu::f32(x);
  float* sums = cpu::f32(partial);
  cpu::parallel_ranges(threads_, blocks, x.count(), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      HWY_DYNAMIC_DISPATCH(cpu::sum_columns)
      ({.x = from + b * block * columns,
        .rows = std::min(block, rows - b * block),
        .stride = columns,
        .columns = columns},
       sums + b * columns, false);
    }
  });
  cpu::column_sums(threads_, {.x = sums, .rows = blocks, .stride = columns, .columns = columns},
                   cpu::f32(y.tensor), y.write == Write::kAdd);
}

namespace {
constexpr int64_t kSumBlock = 16384;
}

double CpuBackend::sum(const Tensor& x) {
  const Tensor partial = scratch({x.count() / kSumBlock + 1}, DType::kF64);
  return cpu::total(threads_, x, partial.data<double>(), kSumBlock, false);
}

double CpuBackend::sum_of_squares(const Tensor& x) {
  const Tensor partial = scratch({x.count() / kSumBlock + 1}, DType::kF64);
  return cpu::total(threads_, x, partial.data<double>(), kSumBlock, true);
}

}  // namespace tapemeasure
#endif
