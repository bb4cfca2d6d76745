// SPDX-License-Identifier: MIT
// Adafactor. The formulas are in reference/updates.cpp. Here u[i, j] = g[i, j] row[i] column[j]
// with row[i] = scale sqrt(mean(R) / R[i]) and column[j] = 1 / sqrt(C[j]): R[i] C[j] itself may be
// too small for f32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/backends/cpu/adafactor.cpp"
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
#ifndef TAPEMEASURE_ADAFACTOR_TYPES
#define TAPEMEASURE_ADAFACTOR_TYPES
/// The unclipped update of a row: u[j] = g[j] * row * column[j].
struct Direction {
  const float *g, *column;
  float row;
  int64_t columns;
};

/// p -= decay p + update with update = factor u, or its moving average m.
struct Apply {
  float factor, decay, beta1, rest1;
};
#endif
}  // namespace tapemeasure::cpu

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu::HWY_NAMESPACE {

/// Returns the sum of (scale g)^2 over a row and adds each square to column_sums.
double add_squares(const float* g, float scale, float* column_sums, int64_t columns) {
  const D d;
  const V s = hn::Set(d, scale);
  return sum_terms(d, columns, [&](int64_t j, auto lanes) HWY_ATTR {
    const V scaled = hn::Mul(s, lanes.load(d, g + j)), square = hn::Mul(scaled, scaled);
    put(d, lanes, square, column_sums + j, true);
    return square;
  });
}

double direction_squares(const Direction& u) {
  const D d;
  const V row = hn::Set(d, u.row);
  return sum_terms(d, u.columns, [&](int64_t j, auto lanes) HWY_ATTR {
    const V x = hn::Mul(hn::Mul(lanes.load(d, u.g + j), row), lanes.load(d, u.column + j));
    return hn::Mul(x, x);
  });
}

void apply_direction(const Direction& u, const Apply& how, float* p, float* m) {
  const D d;
  const V factor = hn::Set(d, how.factor), row = hn::Set(d, u.row), decay = hn::Set(d, how.decay);
  const V beta1 = hn::Set(d, how.beta1), rest1 = hn::Set(d, how.rest1);
  for_vectors(d, u.columns, [&](int64_t j, auto lanes) HWY_ATTR {
    const V x = hn::Mul(hn::Mul(lanes.load(d, u.g + j), row), lanes.load(d, u.column + j));
    V update = hn::Mul(factor, x);
    if (m != nullptr) {
      update = hn::MulAdd(beta1, lanes.load(d, m + j), hn::Mul(rest1, update));
      lanes.store(d, update, m + j);
    }
    const V p_j = lanes.load(d, p + j);
    lanes.store(d, hn::Sub(hn::NegMulAdd(decay, p_j, p_j), update), p + j);
  });
}

}  // namespace tapemeasure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapemeasure {
namespace cpu {
HWY_EXPORT(add_squares);
HWY_EXPORT(direction_squares);
HWY_EXPORT(apply_direction);

namespace {

/// One matrix, and working memory: a factor per row and per column, a partial sum per block.
struct Factored {
  const float* g;
  int64_t rows, columns, block;
  float *row_factor, *column_factor;
  double* partial;
  int64_t blocks() const { return (rows + block - 1) / block; }
  Direction direction(int64_t i) const {
    return {g + i * columns, column_factor, row_factor[i], columns};
  }
};

float average(double beta2, float old, double value) {
  return static_cast<float>(beta2 * old + (1 - beta2) * value);
}

/// R and C take in the squares; then the factors of u follow from them.
void take_in_matrix(int threads, const AdafactorStep& step, const Factored& f, float* column_sums,
                    float* R, float* C) {
  const float scale = static_cast<float>(step.gradient_scale);
  parallel_ranges(threads, f.blocks(), f.rows * f.columns, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      float* sums = column_sums + b * f.columns;
      std::fill(sums, sums + f.columns, 0.f);
      for (int64_t i = b * f.block; i < std::min(f.rows, (b + 1) * f.block); ++i) {
        const double sum =
            HWY_DYNAMIC_DISPATCH(add_squares)(f.g + i * f.columns, scale, sums, f.columns);
        R[i] = average(step.beta2, R[i], sum / static_cast<double>(f.columns) + step.epsilon);
      }
    }
  });
  cpu::column_sums(
      threads, {.x = column_sums, .rows = f.blocks(), .stride = f.columns, .columns = f.columns},
      f.column_factor, false);
  for (int64_t j = 0; j < f.columns; ++j) {
    const double mean = f.column_factor[j] / static_cast<double>(f.rows);
    C[j] = average(step.beta2, C[j], mean + step.epsilon);
    f.column_factor[j] = static_cast<float>(1 / std::sqrt(static_cast<double>(C[j])));
  }
  double mean = 0;
  for (int64_t i = 0; i < f.rows; ++i) mean += R[i] / static_cast<double>(f.rows);
  for (int64_t i = 0; i < f.rows; ++i) {
    f.row_factor[i] = static_cast<float>(step.gradient_scale * std::sqrt(mean / R[i]));
  }
}

/// A vector is one row whose column factors are those of its elements.
void take_in_vector(const AdafactorStep& step, const Factored& f, float* v) {
  f.row_factor[0] = static_cast<float>(step.gradient_scale);
  for (int64_t j = 0; j < f.columns; ++j) {
    const double g = step.gradient_scale * f.g[j];
    v[j] = average(step.beta2, v[j], g * g + step.epsilon);
    f.column_factor[j] = static_cast<float>(1 / std::sqrt(static_cast<double>(v[j])));
  }
}

double mean_square(int threads, const Factored& f) {
  parallel_ranges(threads, f.blocks(), f.rows * f.columns, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      f.partial[b] = 0;
      for (int64_t i = b * f.block; i < std::min(f.rows, (b + 1) * f.block); ++i) {
        f.partial[b] += HWY_DYNAMIC_DISPATCH(direction_squares)(f.direction(i));
      }
    }
  });
  double sum = 0;
  for (int64_t b = 0; b < f.blocks(); ++b) sum += f.partial[b];
  return sum / static_cast<double>(f.rows * f.columns);
}

}  // namespace
}  // namespace cpu

void CpuBackend::adafactor(const AdafactorStep& step, const Tensor& gradient,
                           const Tensor& parameter, const Tensor& rows, const Tensor& columns,
                           const Tensor& first_moment) {
  if (parameter.count() == 0) return;
  const bool matrix = columns.defined();
  const int64_t N = matrix ? rows_of(gradient) : 1, M = parameter.count() / N;
  const int64_t block = cpu::block_rows(N), blocks = (N + block - 1) / block;
  const Tensor row_factor = scratch({N}), column_factor = scratch({M});
  const Tensor partial = scratch({blocks}, DType::kF64);
  const cpu::Factored f{
      cpu::f32(gradient),    N, M, block, cpu::f32(row_factor), cpu::f32(column_factor),
      partial.data<double>()};
  double rate = step.rate;
  if (step.scale_parameter) {
    const double mean = sum_of_squares(parameter) / static_cast<double>(parameter.count());
    rate *= std::max(step.minimum_scale, std::sqrt(mean));
  }
  if (matrix) {
    const Tensor sums = scratch({blocks, M});
    cpu::take_in_matrix(threads_, step, f, cpu::f32(sums), cpu::f32(rows), cpu::f32(columns));
  } else {
    cpu::take_in_vector(step, f, cpu::f32(rows));
  }
  const double clip = std::max(1.0, std::sqrt(cpu::mean_square(threads_, f)) / step.clip_threshold);
  const cpu::Apply how{static_cast<float>(rate / clip), static_cast<float>(rate * step.decay),
                       static_cast<float>(step.beta1), static_cast<float>(1 - step.beta1)};
  float *p = cpu::f32(parameter), *m = cpu::f32_or_null(first_moment);
  cpu::parallel_ranges(threads_, N, parameter.count(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      HWY_DYNAMIC_DISPATCH(cpu::apply_direction)
      (f.direction(i), how, p + i * M, m == nullptr ? nullptr : m + i * M);
    }
  });
}

}  // namespace tapemeasure
#endif
