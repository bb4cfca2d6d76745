// SPDX-License-Identifier: MIT
// Reading rows of a table: by token id, and by position; and writing rows to their places.
#include <vector>

#include "core/error.h"
#include "core/ops.h"

namespace tapemeasure {

Variable embedding(Run& run, const Variable& table, const Tensor& ids, double factor) {
  check<ShapeError>(ids.dtype() == DType::kI32 && ids.shape().axes() == 2,
                    "embedding: ids must be i32 [B, T], got {} {}", name_of(ids.dtype()),
                    ids.shape());
  const Tensor y = empty(table.value().backend(),
                         {ids.shape()[0], ids.shape()[1], table.shape()[1]}, table.value().dtype());
  y.backend().embed(table.value(), ids, factor, y);
  return run.tape.record("embedding", y, {table}, [ids, factor](Gradients& g) {
    g.output().backend().embed_grad(ids, g.output(), factor, g.input(0));
  });
}

Variable rows(Run& run, const Variable& x, int64_t first, int64_t count) {
  check<ShapeError>(first >= 0 && first + count <= x.shape()[0],
                    "rows: {} rows from {} on are not in x {}", count, first, x.shape());
  const Tensor y = x.value().rows(first, count);
  return run.tape.record("rows", y, {x}, [first, count](Gradients& g) {
    const Into into = g.input(0);
    Backend& backend = g.output().backend();
    if (into.write == Write::kSet) backend.fill(into, 0);
    backend.scale(1, g.output(), {into.tensor.rows(first, count), Write::kAdd});
  });
}

Variable scatter_rows(Run& run, std::span<const Variable> parts, std::span<const Tensor> ids,
                      int64_t count) {
  const int64_t width = parts[0].shape()[-1];
  Backend& backend = parts[0].value().backend();
  const Tensor y = empty(backend, {count, width}, parts[0].value().dtype());
  for (size_t i = 0; i < parts.size(); ++i) {
    const Tensor& part = parts[i].value();
    check<ShapeError>(part.shape()[-1] == width && part.count() == ids[i].count() * width,
                      "scatter_rows: part {} does not fit ids {} and width {}", part.shape(),
                      ids[i].shape(), width);
    backend.embed_grad(ids[i], part, 1, {y, i == 0 ? Write::kSet : Write::kAdd});
  }
  return run.tape.record("scatter_rows", y, parts,
                         [places = std::vector<Tensor>(ids.begin(), ids.end())](Gradients& g) {
                           for (size_t i = 0; i < places.size(); ++i) {
                             const int input = static_cast<int>(i);
                             if (!g.wanted(input)) continue;
                             g.output().backend().embed(g.output(), places[i], 1, g.input(input));
                           }
                         });
}

Variable add_rows(Run& run, const Variable& x_BTD, const Variable& table, int64_t first_row,
                  double factor) {
  const int64_t last = first_row + x_BTD.shape()[1];
  check<ShapeError>(x_BTD.shape().axes() == 3 && table.shape()[1] == x_BTD.shape()[2] &&
                        first_row >= 0 && last <= table.shape()[0],
                    "add_rows: rows {} to {} of a table {} do not fit x {}", first_row, last,
                    table.shape(), x_BTD.shape());
  const Tensor y = empty_like(x_BTD.value());
  y.backend().add_rows(x_BTD.value(), table.value(), first_row, factor, y);
  return run.tape.record("add_rows", y, {x_BTD, table}, [first_row, factor](Gradients& g) {
    if (g.wanted(1)) {
      g.output().backend().add_rows_grad(g.output(), first_row, factor, g.input(1));
    }
    if (g.wanted(0)) g.pass(0);
  });
}

}  // namespace tapemeasure
