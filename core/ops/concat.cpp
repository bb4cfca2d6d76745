// SPDX-License-Identifier: MIT
// Rows behind rows: how memory comes before a segment. Each gradient is its part of the output's.
#include "core/error.h"
#include "core/ops.h"

namespace tapemeasure {

namespace {
/// Rows [first, first + count) of sequence b of x [B, rows, D].
Tensor rows_of(const Tensor& x, int64_t b, int64_t first, int64_t count) {
  return x.rows(b, 1).reshaped({x.shape()[1], x.shape()[2]}).rows(first, count);
}
}  // namespace

Variable concat_rows(Run& run, const Variable& a_BMD, const Variable& b_BTD) {
  const Shape& a = a_BMD.shape();
  const Shape& b = b_BTD.shape();
  check<ShapeError>(a.axes() == 3 && b.axes() == 3 && a[0] == b[0] && a[2] == b[2],
                    "concat_rows: {} and {} differ in more than their rows", a.str(), b.str());
  const int64_t batch = a[0], first = a[1], second = b[1];
  Backend& backend = a_BMD.value().backend();
  const Tensor y = empty(backend, {batch, first + second, a[2]}, a_BMD.value().dtype());
  for (int64_t s = 0; s < batch; ++s) {
    backend.scale(1, rows_of(a_BMD.value(), s, 0, first), rows_of(y, s, 0, first));
    backend.scale(1, rows_of(b_BTD.value(), s, 0, second), rows_of(y, s, first, second));
  }
  return run.tape.record("concat_rows", y, {a_BMD, b_BTD}, [batch, first, second](Gradients& g) {
    const auto give = [&](int input, int64_t from, int64_t count) {
      if (!g.wanted(input)) return;
      const Into into = g.input(input);
      for (int64_t s = 0; s < batch; ++s) {
        g.output().backend().scale(1, rows_of(g.output(), s, from, count),
                                   {rows_of(into.tensor, s, 0, count), into.write});
      }
    };
    give(0, 0, first);
    give(1, first, second);
  });
}

}  // namespace tapemeasure
