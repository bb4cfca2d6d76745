// SPDX-License-Identifier: MIT
// The one attention of the project as an op: packs what the kernels read, and hands each gradient
// to the variable it belongs to.
#include <array>

#include "core/error.h"
#include "core/ops.h"

namespace tapemeasure {

namespace {

// Inputs in record order. q, k and v may be one variable: its slot is then asked once, at kQ.
enum Input {
  kQ,
  kK,
  kV,
  kContentBias,
  kPositionBias,
  kQueryTable,
  kKeyTable,
  kValueTable,
  kBias,
  kInputs
};

HeadRows rows_of(const HeadColumns& columns) {
  return {columns.matrix.value(), columns.rows, columns.first_column};
}

OffsetTable<Tensor> table_of(const OffsetTable<Variable>& table) {
  return {table.table.value(), table.layout, table.map};
}

AttentionTermsOf<Tensor> values_of(const AttentionTerms& terms) {
  AttentionTermsOf<Tensor> values;
  values.scale = terms.scale;
  values.content_bias = terms.content_bias.value();
  values.position_bias = terms.position_bias.value();
  values.query_table = table_of(terms.query_table);
  values.key_table = table_of(terms.key_table);
  values.value_table = table_of(terms.value_table);
  values.bias = terms.bias.value();
  values.bias_map = terms.bias_map;
  return values;
}

bool fits(const HeadColumns& columns, const AttentionShape& shape, int64_t used) {
  const Tensor& matrix = columns.matrix.value();
  return columns.rows >= used &&
         matrix.count() == shape.batch * columns.rows * matrix.shape()[-1] &&
         columns.first_column + shape.heads * shape.width <= matrix.shape()[-1];
}

void check_call(const AttentionShape& shape, const HeadColumns& q, const HeadColumns& k,
                const HeadColumns& v, const AttentionTerms& terms) {
  check<ShapeError>(
      fits(q, shape, shape.queries) && fits(k, shape, shape.keys) && fits(v, shape, shape.keys),
      "attention: B {}, H {}, d {}, T {}, S {} do not fit q {}, k {}, v {}", shape.batch,
      shape.heads, shape.width, shape.queries, shape.keys, q.matrix.shape(), k.matrix.shape(),
      v.matrix.shape());
  check<ShapeError>(!terms.position_bias.defined() || terms.query_table.table.defined(),
                    "attention: a position bias needs a query table");
}

/// dq, dk and dv: the columns of one fused matrix, or matrices of their own. A gradient that the
/// heads do not cover wholly starts as zeros.
void ask_heads(Gradients& g, const AttentionCall& call, const std::array<int, 3>& source,
               AttentionGradients& out) {
  const std::array<const HeadRows*, 3> from = {&call.q, &call.k, &call.v};
  const std::array<HeadRows*, 3> to = {&out.q, &out.k, &out.v};
  const std::array<Write*, 3> write = {&out.write_q, &out.write_k, &out.write_v};
  const int64_t columns = call.shape.heads * call.shape.width;
  std::array<Into, 3> asked;
  for (int i = 0; i < 3; ++i) {
    if (!g.wanted(source[i])) continue;
    if (!asked[source[i]].defined()) {
      Into& into = asked[source[i]] = g.input(source[i]);
      int64_t covered = 0;
      for (int j = 0; j < 3; ++j) {
        const int64_t used = j == kQ ? call.shape.queries : call.shape.keys;
        if (source[j] == source[i] && from[j]->rows == used) covered += columns;
      }
      if (into.write == Write::kSet && covered != into.tensor.shape()[-1]) {
        into.tensor.backend().fill(into.tensor, 0);
      }
    }
    *to[i] = {asked[source[i]].tensor, from[i]->rows, from[i]->first_column};
    *write[i] = asked[source[i]].write;
  }
}

Into ask(Gradients& g, int input) { return g.wanted(input) ? g.input(input) : Into(); }

}  // namespace

Variable attention(Run& run, const AttentionShape& shape, const HeadColumns& q,
                   const HeadColumns& k, const HeadColumns& v, const AttentionMask& mask,
                   const AttentionTerms& terms, const Dropout& dropout) {
  check_call(shape, q, k, v, terms);
  Backend& backend = q.matrix.value().backend();
  const DType dtype = q.matrix.value().dtype();
  const AttentionCall call{shape, rows_of(q),       rows_of(k), rows_of(v),
                           mask,  values_of(terms), dropout};
  if (run.attention_probe) run.attention_probe(call);
  const Tensor out = empty(backend, {shape.batch, shape.queries, shape.heads * shape.width}, dtype);
  const Tensor log_sum_exp = empty(backend, {shape.batch, shape.heads, shape.queries}, dtype);
  backend.attention(call, out, log_sum_exp);

  // One variable may serve as q, k and v: its gradient is asked for once.
  std::array<int, 3> source = {kQ, kK, kV};
  const bool tracked = q.matrix.tracked();
  if (tracked && k.matrix.slot() == q.matrix.slot()) source[kK] = kQ;
  if (v.matrix.tracked() && v.matrix.slot() == k.matrix.slot()) source[kV] = source[kK];
  const std::array<Variable, kInputs> inputs = {q.matrix,
                                                k.matrix,
                                                v.matrix,
                                                terms.content_bias,
                                                terms.position_bias,
                                                terms.query_table.table,
                                                terms.key_table.table,
                                                terms.value_table.table,
                                                terms.bias};
  return run.tape.record("attention", out, inputs, [call, out, log_sum_exp, source](Gradients& g) {
    AttentionGradients gradients;
    ask_heads(g, call, source, gradients);
    gradients.content_bias = ask(g, kContentBias);
    gradients.position_bias = ask(g, kPositionBias);
    gradients.query_table = ask(g, kQueryTable);
    gradients.key_table = ask(g, kKeyTable);
    gradients.value_table = ask(g, kValueTable);
    gradients.bias = ask(g, kBias);
    out.backend().attention_grad(call, out, log_sum_exp, g.output(), gradients);
  });
}

}  // namespace tapemeasure
