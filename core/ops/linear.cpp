// SPDX-License-Identifier: MIT
// y = x W^T + b.  dx = dy W, dW = dy^T x, db = sum over rows of dy.
#include "core/error.h"
#include "core/ops.h"

namespace tapemeasure {

Variable linear(Run& run, const Variable& x, const Variable& weight, const Variable& bias) {
  check<ShapeError>(weight.shape().axes() == 2 && x.shape()[-1] == weight.shape()[1],
                    "linear: x is {}, weight is {} (wants [out, in])", x.shape(), weight.shape());
  const Tensor y =
      empty(x.value().backend(), x.shape().with_last(weight.shape()[0]), x.value().dtype());
  y.backend().gemm({.transpose_b = true, .bias = bias.value()}, x.value(), weight.value(), y);
  return run.tape.record("linear", y, {x, weight, bias},
                         [x = x.value(), weight = weight.value()](Gradients& g) {
                           Backend& backend = x.backend();
                           const Tensor& dy = g.output();
                           if (g.wanted(0)) backend.gemm({}, dy, weight, g.input(0));
                           if (g.wanted(1)) {
                             backend.gemm({.transpose_a = true}, dy, x, g.input(1));
                           }
                           if (g.wanted(2)) backend.sum_rows(dy, g.input(2));
                         });
}

Variable linear_transposed(Run& run, const Variable& x, const Variable& weight) {
  check<ShapeError>(weight.shape().axes() == 2 && x.shape()[-1] == weight.shape()[0],
                    "linear_transposed: x is {}, weight is {} (wants [in, out])", x.shape(),
                    weight.shape());
  const Tensor y =
      empty(x.value().backend(), x.shape().with_last(weight.shape()[1]), x.value().dtype());
  y.backend().gemm({}, x.value(), weight.value(), y);
  return run.tape.record("linear_transposed", y, {x, weight},
                         [x = x.value(), weight = weight.value()](Gradients& g) {
                           const Tensor& dy = g.output();
                           if (g.wanted(0))
                             x.backend().gemm({.transpose_b = true}, dy, weight, g.input(0));
                           if (g.wanted(1))
                             x.backend().gemm({.transpose_a = true}, x, dy, g.input(1));
                         });
}

}  // namespace tapemeasure
