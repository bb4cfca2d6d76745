// SPDX-License-Identifier: MIT
// Reading rows of a table: by token id, and by position.
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
