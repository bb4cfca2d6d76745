// SPDX-License-Identifier: MIT
// Sums, scaling, activations and dropout: what works on each element alone.
#include "core/error.h"
#include "core/ops.h"

namespace tapemeasure {

namespace {
void check_same(const char* op, const Variable& x, const Variable& y) {
  check<ShapeError>(x.shape() == y.shape(), "{}: shapes differ: {} and {}", op, x.shape(),
                    y.shape());
}
}  // namespace

Variable add(Run& run, const Variable& x, const Variable& y) {
  check_same("add", x, y);
  const Tensor z = empty_like(x.value());
  z.backend().dropout({}, x.value(), y.value(), z);
  return run.tape.record("add", z, {x, y}, [](Gradients& g) {
    if (g.wanted(0)) g.pass(0);
    if (g.wanted(1)) g.pass(1);
  });
}

Variable scale(Run& run, const Variable& x, double factor) {
  const Tensor y = empty_like(x.value());
  y.backend().scale(factor, x.value(), y);
  return run.tape.record("scale", y, {x}, [factor](Gradients& g) {
    g.output().backend().scale(factor, g.output(), g.input(0));
  });
}

Variable activation(Run& run, Activation kind, const Variable& x) {
  const Tensor y = empty_like(x.value());
  y.backend().activation(kind, x.value(), y);
  return run.tape.record("activation", y, {x}, [kind, x = x.value()](Gradients& g) {
    x.backend().activation_grad(kind, x, g.output(), g.input(0));
  });
}

// y = act(a) u.  da = act'(a) u dy, du = act(a) dy.
Variable gated(Run& run, Activation kind, const Variable& gate, const Variable& up) {
  check_same("gated", gate, up);
  const Tensor y = empty_like(up.value());
  y.backend().gated(kind, gate.value(), up.value(), y);
  return run.tape.record("gated", y, {gate, up},
                         [kind, gate = gate.value(), up = up.value()](Gradients& g) {
                           const Into dgate = g.wanted(0) ? g.input(0) : Into();
                           const Into dup = g.wanted(1) ? g.input(1) : Into();
                           up.backend().gated_grad(kind, gate, up, g.output(), dgate, dup);
                         });
}

Variable dropout(Run& run, const Variable& x, const Dropout& how) {
  if (!how.active()) return x;
  const Tensor y = empty_like(x.value());
  y.backend().dropout(how, x.value(), {}, y);
  return run.tape.record("dropout", y, {x}, [how](Gradients& g) {
    g.output().backend().dropout(how, g.output(), {}, g.input(0));
  });
}

Variable residual(Run& run, const Variable& residual, const Variable& x, const Dropout& how) {
  check_same("residual", residual, x);
  const Tensor y = empty_like(x.value());
  y.backend().dropout(how, x.value(), residual.value(), y);
  return run.tape.record("residual", y, {residual, x}, [how](Gradients& g) {
    if (g.wanted(1) && !how.active()) g.pass(1);
    if (g.wanted(1) && how.active()) {
      g.output().backend().dropout(how, g.output(), {}, g.input(1));
    }
    if (g.wanted(0)) g.pass(0);
  });
}

}  // namespace tapemeasure
