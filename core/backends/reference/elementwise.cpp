// SPDX-License-Identifier: MIT
// Activations, gated units and dropout.
#include <cmath>
#include <numbers>

#include "core/backends/kernel_support.h"
#include "core/backends/reference/reference_backend.h"
#include "core/random.h"

namespace tapemeasure {

namespace {

/// An activation's value and slope at one point.
struct Point {
  double value, slope;
};

/// relu(x) = max(x, 0), slope 0 at 0; NaN stays NaN.
Point relu(double x) { return {x < 0 ? 0 : x, x > 0 ? 1.0 : 0.0}; }

/// gelu(x) = x Phi(x), slope Phi(x) + x phi(x). Hendrycks & Gimpel 2016, section 2.
Point gelu(double x) {
  const double Phi = 0.5 * std::erfc(-x / std::numbers::sqrt2);
  const double phi = std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return {x * Phi, Phi + x * phi};
}

/// gelu_tanh(x) = x (1 + tanh u) / 2, u = sqrt(2 / pi) (x + 0.044715 x^3). The same paper.
Point gelu_tanh(double x) {
  const double root = std::sqrt(2 / std::numbers::pi);
  const double t = std::tanh(root * (x + 0.044715 * x * x * x));
  const double du = root * (1 + 3 * 0.044715 * x * x);
  return {0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * du};
}

/// silu(x) = x s(x), s the logistic function; slope s (1 + x (1 - s)).
Point silu(double x) {
  const double s = 1 / (1 + std::exp(-x));
  return {x * s, s * (1 + x * (1 - s))};
}

Point activate(Activation kind, double x) {
  switch (kind) {
    case Activation::kRelu:
      return relu(x);
    case Activation::kGelu:
      return gelu(x);
    case Activation::kGeluTanh:
      return gelu_tanh(x);
    case Activation::kSilu:
      return silu(x);
  }
  return {};
}

/// y = x m / (1 - rate) + residual, m = 0 where random_word < rate 2^32, else 1.
template <class T>
void drop(const Dropout& how, const Tensor& x, const Tensor& residual, const Into& y) {
  const int64_t sequences = x.count() == 0 ? 0 : x.shape().axes() == 0 ? 1 : x.shape()[0];
  const int64_t length = sequences == 0 ? 0 : x.count() / sequences;
  const double kept = how.active() ? 1 / (1 - how.rate) : 1;
  for (int64_t s = 0; s < sequences; ++s) {
    const uint64_t sequence = static_cast<uint64_t>(how.first_sequence + s);
    for (int64_t e = 0; e < length; ++e) {
      const int64_t i = s * length + e;
      const bool dropped = how.active() && random_word(how.key, sequence,
                                                       static_cast<uint64_t>(e)) < how.threshold();
      const double value = dropped ? 0 : kept * x.data<T>()[i];
      put(y.tensor.data<T>()[i], y.write, value + (residual.defined() ? residual.data<T>()[i] : 0));
    }
  }
}

}  // namespace

void ReferenceBackend::activation(Activation kind, const Tensor& x, const Into& y) {
  with_floating(x.dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < x.count(); ++i) {
      put(y.tensor.data<T>()[i], y.write, activate(kind, x.data<T>()[i]).value);
    }
  });
}

/// dx = act'(x) dy.
void ReferenceBackend::activation_grad(Activation kind, const Tensor& x, const Tensor& dy,
                                       const Into& dx) {
  with_floating(x.dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < x.count(); ++i) {
      put(dx.tensor.data<T>()[i], dx.write, activate(kind, x.data<T>()[i]).slope * dy.data<T>()[i]);
    }
  });
}

/// y = act(gate) up.
void ReferenceBackend::gated(Activation kind, const Tensor& gate, const Tensor& up, const Into& y) {
  with_floating(gate.dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < gate.count(); ++i) {
      put(y.tensor.data<T>()[i], y.write,
          activate(kind, gate.data<T>()[i]).value * up.data<T>()[i]);
    }
  });
}

/// dgate = act'(gate) up dy, dup = act(gate) dy.
void ReferenceBackend::gated_grad(Activation kind, const Tensor& gate, const Tensor& up,
                                  const Tensor& dy, const Into& dgate, const Into& dup) {
  with_floating(gate.dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < gate.count(); ++i) {
      const Point point = activate(kind, gate.data<T>()[i]);
      const double d = dy.data<T>()[i];
      if (dgate.defined()) {
        put(dgate.tensor.data<T>()[i], dgate.write, point.slope * up.data<T>()[i] * d);
      }
      if (dup.defined()) put(dup.tensor.data<T>()[i], dup.write, point.value * d);
    }
  });
}

void ReferenceBackend::dropout(const Dropout& how, const Tensor& x, const Tensor& residual,
                               const Into& y) {
  with_floating(x.dtype(), [&]<class T>(T) { drop<T>(how, x, residual, y); });
}

}  // namespace tapemeasure
