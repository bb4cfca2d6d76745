// SPDX-License-Identifier: MIT
// LayerNorm and RMSNorm, forward and backward.
#include <cmath>

#include "core/backends/kernel_support.h"
#include "core/backends/reference/reference_backend.h"

namespace tapemeasure {

namespace {

/// LayerNorm: m = mean(x), r = 1 / sqrt(mean((x - m)^2) + epsilon). RMSNorm: the same with m = 0.
/// y = (x - m) r gain + bias.
template <class T>
void normalize_rows(Norm kind, double epsilon, const Tensor& x_ND, const Tensor& gain,
                    const Tensor& bias, const Tensor& y_ND, const Tensor& statistics) {
  const int64_t N = rows_of(x_ND), D = columns_of(x_ND);
  for (int64_t n = 0; n < N; ++n) {
    const T* x = x_ND.data<T>() + n * D;
    double mean = 0, variance = 0;
    if (kind == Norm::kLayerNorm) {
      for (int64_t c = 0; c < D; ++c) mean += x[c];
      mean /= static_cast<double>(D);
    }
    for (int64_t c = 0; c < D; ++c) variance += (x[c] - mean) * (x[c] - mean);
    const double r = 1 / std::sqrt(variance / static_cast<double>(D) + epsilon);
    for (int64_t c = 0; c < D; ++c) {
      const double shift = bias.defined() ? bias.data<T>()[c] : 0;
      y_ND.data<T>()[n * D + c] = static_cast<T>((x[c] - mean) * r * gain.data<T>()[c] + shift);
    }
    statistics.data<T>()[2 * n] = static_cast<T>(mean);
    statistics.data<T>()[2 * n + 1] = static_cast<T>(r);
  }
}

/// With z = (x - m) r and g = dy gain:
/// dx = r (g - mean(g) - z mean(g z)), where RMSNorm has no mean(g).
template <class T>
void input_gradient(Norm kind, const Tensor& x_ND, const Tensor& gain, const Tensor& statistics,
                    const Tensor& dy_ND, const Into& dx_ND) {
  const int64_t N = rows_of(x_ND), D = columns_of(x_ND);
  for (int64_t n = 0; n < N; ++n) {
    const T *x = x_ND.data<T>() + n * D, *dy = dy_ND.data<T>() + n * D;
    const double mean = statistics.data<T>()[2 * n], r = statistics.data<T>()[2 * n + 1];
    double mean_g = 0, mean_gz = 0;
    for (int64_t c = 0; c < D; ++c) {
      const double g = static_cast<double>(dy[c]) * gain.data<T>()[c];
      mean_g += g / static_cast<double>(D);
      mean_gz += g * (x[c] - mean) * r / static_cast<double>(D);
    }
    if (kind == Norm::kRmsNorm) mean_g = 0;
    for (int64_t c = 0; c < D; ++c) {
      const double g = static_cast<double>(dy[c]) * gain.data<T>()[c];
      put(dx_ND.tensor.data<T>()[n * D + c], dx_ND.write,
          r * (g - mean_g - (x[c] - mean) * r * mean_gz));
    }
  }
}

/// dgain = sum over rows of dy z, dbias = sum over rows of dy.
template <class T>
void parameter_gradients(const Tensor& x_ND, const Tensor& statistics, const Tensor& dy_ND,
                         const Into& dgain, const Into& dbias) {
  const int64_t N = rows_of(x_ND), D = columns_of(x_ND);
  for (int64_t c = 0; c < D; ++c) {
    double sum_dyz = 0, sum_dy = 0;
    for (int64_t n = 0; n < N; ++n) {
      const double mean = statistics.data<T>()[2 * n], r = statistics.data<T>()[2 * n + 1];
      const double dy = dy_ND.data<T>()[n * D + c];
      sum_dyz += dy * (x_ND.data<T>()[n * D + c] - mean) * r;
      sum_dy += dy;
    }
    if (dgain.defined()) put(dgain.tensor.data<T>()[c], dgain.write, sum_dyz);
    if (dbias.defined()) put(dbias.tensor.data<T>()[c], dbias.write, sum_dy);
  }
}

}  // namespace

void ReferenceBackend::normalize(Norm kind, double epsilon, const Tensor& x, const Tensor& gain,
                                 const Tensor& bias, const Tensor& y, const Tensor& statistics) {
  with_floating(x.dtype(), [&]<class T>(T) {
    normalize_rows<T>(kind, epsilon, x, gain, bias, y, statistics);
  });
}

void ReferenceBackend::normalize_grad(Norm kind, const Tensor& x, const Tensor& gain,
                                      const Tensor& statistics, const Tensor& dy, const Into& dx,
                                      const Into& dgain, const Into& dbias) {
  with_floating(x.dtype(), [&]<class T>(T) {
    if (dx.defined()) input_gradient<T>(kind, x, gain, statistics, dy, dx);
    parameter_gradients<T>(x, statistics, dy, dgain, dbias);
  });
}

}  // namespace tapemeasure
