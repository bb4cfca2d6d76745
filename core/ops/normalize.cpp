// SPDX-License-Identifier: MIT
// LayerNorm and RMSNorm over the last axis.
#include "core/error.h"
#include "core/ops.h"

namespace tapemeasure {

Variable normalize(Run& run, Norm kind, double epsilon, const Variable& x, const Variable& gain,
                   const Variable& bias) {
  check<ShapeError>(gain.value().count() == x.shape()[-1], "normalize: x is {}, gain is {}",
                    x.shape(), gain.shape());
  const int64_t rows = x.value().count() / x.shape()[-1];
  const Tensor y = empty_like(x.value());
  const Tensor statistics = empty(y.backend(), {rows, 2}, y.dtype());
  y.backend().normalize(kind, epsilon, x.value(), gain.value(), bias.value(), y, statistics);
  return run.tape.record("normalize", y, {x, gain, bias},
                         [kind, x = x.value(), gain = gain.value(), statistics](Gradients& g) {
                           const Into dx = g.wanted(0) ? g.input(0) : Into();
                           const Into dgain = g.wanted(1) ? g.input(1) : Into();
                           const Into dbias = g.wanted(2) ? g.input(2) : Into();
                           x.backend().normalize_grad(kind, x, gain, statistics, g.output(), dx,
                                                      dgain, dbias);
                         });
}

}  // namespace tapemeasure
