// SPDX-License-Identifier: MIT
// Rows behind rows: how memory comes before a segment. Each gradient is its part of the output's.
#include "core/error.h"
#include "core/ops.h"

namespace tapemeasure {

Variable concat_rows(Run& run, const Variable& a_BMD, const Variable& b_BTD) {
  const Shape& a = a_BMD.shape();
  const Shape& b = b_BTD.shape();
  check<ShapeError>(a.axes() == 3 && b.axes() == 3 && a[0] == b[0] && a[2] == b[2],
                    "concat_rows: {} and {} differ in more than their rows", a, b);
  const int64_t batch = a[0], first = a[1], second = b[1];
  Backend& backend = a_BMD.value().backend();
  const Tensor y = empty(backend, {batch, first + second, a[2]}, a_BMD.value().dtype());
  for (int64_t s = 0; s < batch; ++s) {
    backend.scale(1, a_BMD.value().sequence_rows(s, 0, first), y.sequence_rows(s, 0, first));
    backend.scale(1, b_BTD.value().sequence_rows(s, 0, second), y.sequence_rows(s, first, second));
  }
  return run.tape.record("concat_rows", y, {a_BMD, b_BTD}, [batch, first, second](Gradients& g) {
    const auto give = [&](int input, int64_t from, int64_t count) {
      if (!g.wanted(input)) return;
      const Into into = g.input(input);
      for (int64_t s = 0; s < batch; ++s) {
        g.output().backend().scale(1, g.output().sequence_rows(s, from, count),
                                   {into.tensor.sequence_rows(s, 0, count), into.write});
      }
    };
    give(0, 0, first);
    give(1, first, second);
  });
}

}  // namespace tapemeasure
