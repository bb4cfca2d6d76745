// SPDX-License-Identifier: MIT
// Cross-entropy of logits with label smoothing (Szegedy et al. 2016, section 7).
#include <algorithm>
#include <cmath>

#include "core/backends/kernel_support.h"
#include "core/backends/reference/reference_backend.h"

namespace tapemeasure {

namespace {

/// L = log sum_v exp z_v. loss = L - (1 - e) z_target - e mean(z).
/// dloss/dz_v = exp(z_v - L) - (1 - e) [v = target] - e / V.
template <class T>
double row_loss(const T* z, int64_t V, int64_t target, double smoothing, double factor, T* dz) {
  const double top = *std::max_element(z, z + V);
  double sum = 0, mean = 0;
  for (int64_t v = 0; v < V; ++v) {
    sum += std::exp(z[v] - top);
    mean += z[v] / static_cast<double>(V);
  }
  const double L = top + std::log(sum);
  double loss = L - (1 - smoothing) * z[target];
  if (smoothing > 0) loss -= smoothing * mean;
  for (int64_t v = 0; dz != nullptr && v < V; ++v) {
    const double wanted = (v == target ? 1 - smoothing : 0) + smoothing / static_cast<double>(V);
    dz[v] = static_cast<T>(factor * (std::exp(z[v] - L) - wanted));
  }
  return loss;
}

}  // namespace

void ReferenceBackend::cross_entropy(const Tensor& logits, const Tensor& targets, double smoothing,
                                     double factor, const Tensor& losses, const Tensor& gradient) {
  with_floating(logits.dtype(), [&]<class T>(T) {
    const int64_t V = columns_of(logits);
    for (int64_t n = 0; n < rows_of(logits); ++n) {
      const int64_t target = targets.data<int32_t>()[n];
      T* dz = gradient.defined() ? gradient.data<T>() + n * V : nullptr;
      if (target < 0) {
        losses.data<T>()[n] = 0;
        if (dz != nullptr) std::fill(dz, dz + V, T(0));
        continue;
      }
      losses.data<T>()[n] =
          static_cast<T>(row_loss(logits.data<T>() + n * V, V, target, smoothing, factor, dz));
    }
  });
}

}  // namespace tapemeasure
