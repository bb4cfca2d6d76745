// SPDX-License-Identifier: MIT
// The vocabulary head and its cross-entropy as one op, a chunk of rows at a time. When gradients
// are wanted they are computed right behind each chunk's losses, while its logits are there: three
// GEMMs as without chunks, at the price of one more buffer of the weight's size.
#include <algorithm>

#include "core/error.h"
#include "core/ops.h"

namespace tapemeasure {

namespace {

/// What the op reads, as matrices.
struct Head {
  Tensor hidden_ND, weight_VD, bias_V, targets_N;
};

/// Gradients with d loss = 1; undefined where not wanted.
struct HeadGradients {
  Tensor hidden_ND, weight_VD, bias_V;
  bool wanted() const { return hidden_ND.defined() || weight_VD.defined() || bias_V.defined(); }
};

/// Losses of the rows from `first` on, and their part of the gradients.
void chunk(const Head& head, const CrossEntropyOptions& options, int64_t first, int64_t count,
           const Tensor& logits_CV, const Tensor& losses_N, const HeadGradients& gradients) {
  Backend& backend = head.hidden_ND.backend();
  const Tensor hidden = head.hidden_ND.rows(first, count);
  const Tensor logits = logits_CV.rows(0, count);
  const Write write = first == 0 ? Write::kSet : Write::kAdd;
  backend.gemm({.transpose_b = true, .scale = options.head_scale, .bias = head.bias_V}, hidden,
               head.weight_VD, logits);
  backend.cross_entropy(logits, head.targets_N.rows(first, count), options.smoothing,
                        options.factor, losses_N.rows(first, count),
                        gradients.wanted() ? logits : Tensor());
  if (gradients.hidden_ND.defined()) {
    backend.gemm({.scale = options.head_scale}, logits, head.weight_VD,
                 gradients.hidden_ND.rows(first, count));
  }
  if (gradients.weight_VD.defined()) {
    backend.gemm({.transpose_a = true, .scale = options.head_scale}, logits, hidden,
                 {gradients.weight_VD, write});
  }
  if (gradients.bias_V.defined()) backend.sum_rows(logits, {gradients.bias_V, write});
}

}  // namespace

CrossEntropy cross_entropy(Run& run, const Variable& hidden, const Variable& weight,
                           const Variable& bias, const Tensor& targets,
                           const CrossEntropyOptions& options) {
  const int64_t width = weight.shape()[1];
  const int64_t vocabulary = options.classes > 0 ? options.classes : weight.shape()[0];
  const int64_t rows = hidden.value().count() / width;
  check<ShapeError>(hidden.shape()[-1] == width && targets.count() == rows,
                    "cross_entropy: hidden is {}, weight is {}, targets are {}", hidden.shape(),
                    weight.shape(), targets.shape());
  Backend& backend = hidden.value().backend();
  const DType dtype = hidden.value().dtype();
  const Head head{hidden.value().reshaped({rows, width}), weight.value().rows(0, vocabulary),
                  bias.defined() ? bias.value().rows(0, vocabulary) : Tensor(),
                  targets.reshaped({rows})};
  HeadGradients gradients;
  if (run.tape.recording()) {
    if (hidden.tracked()) gradients.hidden_ND = empty_like(head.hidden_ND);
    if (weight.tracked()) gradients.weight_VD = empty_like(head.weight_VD);
    if (bias.tracked()) gradients.bias_V = empty_like(head.bias_V);
  }
  const int64_t row_bytes = vocabulary * static_cast<int64_t>(size_of(dtype));
  const int64_t chunk_rows =
      std::clamp<int64_t>(options.chunk_bytes / row_bytes, 1, std::max<int64_t>(rows, 1));
  const Tensor logits = empty(backend, {chunk_rows, vocabulary}, dtype);
  const Tensor losses = empty(backend, {rows}, dtype);
  for (int64_t first = 0; first < rows; first += chunk_rows) {
    chunk(head, options, first, std::min(chunk_rows, rows - first), logits, losses, gradients);
  }
  const Tensor loss = empty(backend, {1}, dtype);
  const double total = backend.sum(losses);
  backend.fill(loss, options.factor * total);
  Variable result =
      run.tape.record("cross_entropy", loss, {hidden, weight, bias}, [gradients](Gradients& g) {
        const double factor = g.output().backend().sum(g.output());
        const auto give = [&](int input, const Tensor& gradient) {
          if (!g.wanted(input)) return;
          const Into into = g.input(input);
          if (gradient.count() == into.tensor.count()) {
            into.tensor.backend().scale(factor, gradient.reshaped(into.tensor.shape()), into);
            return;
          }
          // Rows beyond `classes` have no part in the loss.
          if (into.write == Write::kSet) into.tensor.backend().fill(into, 0);
          const Tensor rows = into.tensor.rows(0, gradient.shape()[0]);
          rows.backend().scale(factor, gradient, {rows, Write::kAdd});
        };
        give(0, gradients.hidden_ND);
        give(1, gradients.weight_VD);
        give(2, gradients.bias_V);
      });
  return {std::move(result), losses, total};
}

}  // namespace tapemeasure
