// SPDX-License-Identifier: MIT
// The update rules.
#include <algorithm>
#include <cmath>

#include "core/backends/kernel_support.h"
#include "core/backends/reference/reference_backend.h"
#include "core/backends/reference/scratch.h"

namespace tapemeasure {

namespace {

using reference::Scratch;

/// g += decay p; b = g at first, then momentum b + g; p -= rate (nesterov ? g + momentum b : b).
template <class T>
void sgd_loop(const SgdStep& step, const T* gradient, T* p, T* b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const double g = step.gradient_scale * gradient[i] + step.decay * p[i];
    double update = g;
    if (b != nullptr) {
      const double average = step.first ? g : step.momentum * b[i] + g;
      b[i] = static_cast<T>(average);
      update = step.nesterov ? g + step.momentum * average : average;
    }
    p[i] = static_cast<T>(p[i] - step.rate * update);
  }
}

/// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, p -= rate decay p, then
/// p -= rate (m / (1 - beta1^count)) / (sqrt(v / (1 - beta2^count)) + epsilon).
template <class T>
void adamw_loop(const AdamwStep& step, const T* gradient, T* p, T* m, T* v, int64_t count) {
  const double correct1 = 1 - std::pow(step.beta1, static_cast<double>(step.count));
  const double correct2 = 1 - std::pow(step.beta2, static_cast<double>(step.count));
  for (int64_t i = 0; i < count; ++i) {
    const double g = step.gradient_scale * gradient[i];
    const double first = step.beta1 * m[i] + (1 - step.beta1) * g;
    const double second = step.beta2 * v[i] + (1 - step.beta2) * g * g;
    const double decayed = p[i] - step.rate * step.decay * p[i];
    p[i] = static_cast<T>(decayed - step.rate * (first / correct1) /
                                        (std::sqrt(second / correct2) + step.epsilon));
    m[i] = static_cast<T>(first);
    v[i] = static_cast<T>(second);
  }
}

/// Moving averages of g^2 + epsilon: of row means R and column means C for a matrix (algorithm 4),
/// of each element for a vector (algorithm 5). Afterwards u = g / sqrt(v) with
/// v[i, j] = R[i] C[j] / mean(R), or v[i] = R[i].
template <class T>
Scratch adafactor_direction(const AdafactorStep& step, const Tensor& gradient, T* R, T* C) {
  const int64_t N = C != nullptr ? rows_of(gradient) : gradient.count();
  const int64_t M = C != nullptr ? columns_of(gradient) : 1;
  Scratch u(N * M), rows(N), columns(M);
  for (int64_t i = 0; i < N * M; ++i) {
    u[i] = step.gradient_scale * gradient.data<T>()[i];
    const double square = u[i] * u[i] + step.epsilon;
    rows[i / M] += square / static_cast<double>(M);
    columns[i % M] += square / static_cast<double>(N);
  }
  double mean = 0;
  for (int64_t i = 0; i < N; ++i) {
    R[i] = static_cast<T>(step.beta2 * R[i] + (1 - step.beta2) * rows[i]);
    mean += R[i] / static_cast<double>(N);
  }
  for (int64_t j = 0; C != nullptr && j < M; ++j) {
    C[j] = static_cast<T>(step.beta2 * C[j] + (1 - step.beta2) * columns[j]);
  }
  for (int64_t i = 0; i < N * M; ++i) {
    const double v = C != nullptr ? static_cast<double>(R[i / M]) * C[i % M] / mean : R[i];
    u[i] /= std::sqrt(v);
  }
  return u;
}

/// Root of the mean square.
template <class T>
double rms(const T* x, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * x[i];
  return std::sqrt(sum / static_cast<double>(count));
}

/// a = rate max(minimum, RMS(p)); u = a u / max(1, RMS(u) / clip); m = beta1 m + (1 - beta1) u and
/// u = m; p -= a decay p, then p -= u.
template <class T>
void adafactor_loop(const AdafactorStep& step, const Tensor& gradient, T* p, T* R, T* C, T* m) {
  const int64_t count = gradient.count();
  if (count == 0) return;
  Scratch u = adafactor_direction<T>(step, gradient, R, C);
  double rate = step.rate;
  if (step.scale_parameter) rate *= std::max(step.minimum_scale, rms(p, count));
  const double factor = rate / std::max(1.0, rms(u.data(), count) / step.clip_threshold);
  for (int64_t i = 0; i < count; ++i) {
    double update = factor * u[i];
    if (m != nullptr) {
      update = step.beta1 * m[i] + (1 - step.beta1) * update;
      m[i] = static_cast<T>(update);
    }
    p[i] = static_cast<T>(p[i] - rate * step.decay * p[i] - update);
  }
}

template <class T>
T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}

}  // namespace

void ReferenceBackend::sgd(const SgdStep& step, const Tensor& gradient, const Tensor& parameter,
                           const Tensor& buffer) {
  with_floating(parameter.dtype(), [&]<class T>(T) {
    sgd_loop(step, gradient.data<T>(), parameter.data<T>(), data_or_null<T>(buffer),
             parameter.count());
  });
}

void ReferenceBackend::adamw(const AdamwStep& step, const Tensor& gradient, const Tensor& parameter,
                             const Tensor& first_moment, const Tensor& second_moment) {
  with_floating(parameter.dtype(), [&]<class T>(T) {
    adamw_loop(step, gradient.data<T>(), parameter.data<T>(), first_moment.data<T>(),
               second_moment.data<T>(), parameter.count());
  });
}

void ReferenceBackend::adafactor(const AdafactorStep& step, const Tensor& gradient,
                                 const Tensor& parameter, const Tensor& rows, const Tensor& columns,
                                 const Tensor& first_moment) {
  with_floating(parameter.dtype(), [&]<class T>(T) {
    adafactor_loop(step, gradient, parameter.data<T>(), rows.data<T>(), data_or_null<T>(columns),
                   data_or_null<T>(first_moment));
  });
}

}  // namespace tapemeasure
