// SPDX-License-Identifier: MIT
// Rotary positions: y = R(position) x, pair by pair of channels.  dx = R(position)^T dy, which
// turns back; a factor in the tables multiplies both ways.
#include "core/error.h"
#include "core/ops.h"

namespace tapemeasure {

HeadColumns rotate(Run& run, const HeadColumns& x, const Backend::Rotation& how) {
  const Tensor& matrix = x.matrix.value();
  const int64_t columns = matrix.shape()[-1], turned = how.heads * how.width;
  const int64_t batch = matrix.count() / (x.rows * columns);
  check<ShapeError>(batch * x.rows * columns == matrix.count() && how.rows <= x.rows &&
                        x.first_column + turned <= columns,
                    "rotate: {} rows of {} heads of {} do not fit x {} from column {}", how.rows,
                    how.heads, how.width, matrix.shape(), x.first_column);
  check<ShapeError>(how.first_row >= 0 && how.first_row + how.rows <= how.cosine.shape()[0] &&
                        2 * how.cosine.shape()[1] <= how.width,
                    "rotate: positions {} to {} and heads of {} do not fit a table {}",
                    how.first_row, how.first_row + how.rows, how.width, how.cosine.shape());
  const Tensor y = empty(matrix.backend(), {batch, how.rows, turned}, matrix.dtype());
  matrix.backend().rotate(how, {matrix, x.rows, x.first_column}, {y, how.rows, 0}, Write::kSet);
  const bool whole = how.rows == x.rows && turned == columns;
  Variable rotated =
      run.tape.record("rotate", y, {x.matrix},
                      [how, rows = x.rows, first_column = x.first_column, whole](Gradients& g) {
                        const Into into = g.input(0);
                        Backend& backend = g.output().backend();
                        if (into.write == Write::kSet && !whole) backend.fill(into.tensor, 0);
                        Backend::Rotation back = how;
                        back.inverse = !how.inverse;
                        backend.rotate(back, {g.output(), how.rows, 0},
                                       {into.tensor, rows, first_column}, into.write);
                      });
  return {std::move(rotated), how.rows, 0};
}

}  // namespace tapemeasure
