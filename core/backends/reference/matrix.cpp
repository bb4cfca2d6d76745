// SPDX-License-Identifier: MIT
// Filling, scaling, matrix products and sums.

#include "core/backends/kernel_support.h"
#include "core/backends/reference/reference_backend.h"
#include "core/backends/reference/scratch.h"

namespace tapemeasure {

namespace {

using reference::Scratch;

/// y = value.
template <class T>
void fill_all(const Into& into, double value) {
  T* y = into.tensor.data<T>();
  for (int64_t i = 0; i < into.tensor.count(); ++i) put(y[i], into.write, value);
}

/// Element (i, j) of op(x) lies at i * row + j * column.
struct Strides {
  Strides(const Tensor& x, bool transposed)
      : row(transposed ? 1 : columns_of(x)), column(transposed ? columns_of(x) : 1) {}
  int64_t row, column;
};

/// c[i, j] = scale * sum_k op(a)[i, k] op(b)[k, j] + bias[j].
template <class T>
void gemm_loops(const Gemm& how, const Tensor& a_MK, const Tensor& b_KN, const Into& c_MN) {
  const int64_t M = rows_of(c_MN.tensor), N = columns_of(c_MN.tensor);
  const int64_t K = how.transpose_a ? rows_of(a_MK) : columns_of(a_MK);
  const Strides at(a_MK, how.transpose_a), bt(b_KN, how.transpose_b);
  const T *a = a_MK.data<T>(), *b = b_KN.data<T>();
  const T* bias = how.bias.defined() ? how.bias.data<T>() : nullptr;
  T* c = c_MN.tensor.data<T>();
  Scratch sums(N);
  for (int64_t i = 0; i < M; ++i) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (int64_t k = 0; k < K; ++k) {
      const double factor = a[i * at.row + k * at.column];
      for (int64_t j = 0; j < N; ++j) sums[j] += factor * b[k * bt.row + j * bt.column];
    }
    for (int64_t j = 0; j < N; ++j) {
      put(c[i * N + j], c_MN.write, how.scale * sums[j] + (bias ? bias[j] : 0.0));
    }
  }
}

}  // namespace

void ReferenceBackend::fill(const Into& y, double value) {
  if (y.tensor.dtype() == DType::kI32) return fill_all<int32_t>(y, value);
  with_floating(y.tensor.dtype(), [&]<class T>(T) { fill_all<T>(y, value); });
}

/// y = factor * x.
void ReferenceBackend::scale(double factor, const Tensor& x, const Into& y) {
  with_floating(x.dtype(), [&]<class From>(From) {
    with_floating(y.tensor.dtype(), [&]<class To>(To) {
      for (int64_t i = 0; i < x.count(); ++i) {
        put(y.tensor.data<To>()[i], y.write, factor * x.data<From>()[i]);
      }
    });
  });
}

void ReferenceBackend::gemm(const Gemm& how, const Tensor& a, const Tensor& b, const Into& c) {
  with_floating(c.tensor.dtype(), [&]<class T>(T) { gemm_loops<T>(how, a, b, c); });
}

/// y[c] = sum over r of x[r, c].
void ReferenceBackend::sum_rows(const Tensor& x, const Into& y) {
  with_floating(x.dtype(), [&]<class T>(T) {
    const int64_t columns = columns_of(x);
    for (int64_t c = 0; c < columns; ++c) {
      double sum = 0;
      for (int64_t r = 0; r < rows_of(x); ++r) sum += x.data<T>()[r * columns + c];
      put(y.tensor.data<T>()[c], y.write, sum);
    }
  });
}

double ReferenceBackend::sum(const Tensor& x) {
  double sum = 0;
  with_floating(x.dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < x.count(); ++i) sum += x.data<T>()[i];
  });
  return sum;
}

double ReferenceBackend::sum_of_squares(const Tensor& x) {
  double sum = 0;
  with_floating(x.dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < x.count(); ++i) {
      const double value = x.data<T>()[i];
      sum += value * value;
    }
  });
  return sum;
}

}  // namespace tapemeasure
