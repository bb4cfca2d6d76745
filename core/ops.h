// SPDX-License-Identifier: MIT
// The ops: what layers are written in. Each runs a kernel and records its backward; each lives in
// one file of core/ops/ with forward and backward side by side. Every op has a case in
// tests/core/ops_test.cpp. Axis letters as in core/backend.h.
#pragma once

#include <functional>
#include <span>

#include "core/backend.h"
#include "core/parameter.h"
#include "core/run.h"
#include "core/tape.h"

namespace tapemeasure {

/// y = x W^T + b: x [..., in], weight [out, in], bias [out] or undefined; y [..., out].
Variable linear(Run& run, const Variable& x, const Variable& weight, const Variable& bias = {});
/// y = x W: x [..., in], weight [in, out]. For projections kept the other way round.
Variable linear_transposed(Run& run, const Variable& x, const Variable& weight);
/// x + y, same shapes.
Variable add(Run& run, const Variable& x, const Variable& y);
/// factor * x.
Variable scale(Run& run, const Variable& x, double factor);
Variable activation(Run& run, Activation kind, const Variable& x);
/// act(gate) * up.
Variable gated(Run& run, Activation kind, const Variable& gate, const Variable& up);
/// Dropout of x [sequences, ...]; x itself when inactive.
Variable dropout(Run& run, const Variable& x, const Dropout& how);
/// residual + dropout(x): how a block adds a branch.
Variable residual(Run& run, const Variable& residual, const Variable& x, const Dropout& how);
/// Rows normalised over the last axis; bias is undefined for RMSNorm.
Variable normalize(Run& run, Norm kind, double epsilon, const Variable& x, const Variable& gain,
                   const Variable& bias);
/// factor * table[ids]: ids i32 [B, T], table [V, D]; y [B, T, D].
Variable embedding(Run& run, const Variable& table, const Tensor& ids, double factor = 1);
/// Rows [first, first + count) of x.
Variable rows(Run& run, const Variable& x, int64_t first, int64_t count);
/// y [count, D], 0 but for y[ids[i][m]] += parts[i] row m: ids[i] i32 [1, M_i], parts[i] with M_i
/// rows of D. REQUIRES: there is a part.
Variable scatter_rows(Run& run, std::span<const Variable> parts, std::span<const Tensor> ids,
                      int64_t count);
/// x_BTD + factor * table[first_row ... first_row + T - 1].
Variable add_rows(Run& run, const Variable& x_BTD, const Variable& table, int64_t first_row,
                  double factor = 1);

/// The rows of a_BMD followed by those of b_BTD, sequence by sequence: [B, M + T, D].
Variable concat_rows(Run& run, const Variable& a_BMD, const Variable& b_BTD);

/// Where an attention finds the vectors of its heads: columns [first_column, first_column + H * d)
/// of a matrix with `rows` rows per sequence.
struct HeadColumns {
  Variable matrix;
  int64_t rows = 0;
  int64_t first_column = 0;
};
/// Head vectors turned by their positions, as Backend::rotate turns them: a matrix of their own,
/// [B, how.rows, how.heads * how.width].
HeadColumns rotate(Run& run, const HeadColumns& x, const Backend::Rotation& how);
using AttentionTerms = AttentionTermsOf<Variable>;
/// The one attention; see AttentionTermsOf for the formula. Returns [B, T, H * d]. q, k and v may
/// be columns of one Variable.
Variable attention(Run& run, const AttentionShape& shape, const HeadColumns& q,
                   const HeadColumns& k, const HeadColumns& v, const AttentionMask& mask,
                   const AttentionTerms& terms, const Dropout& dropout = {});

/// What `body` makes of `inputs`, of which some are tracked, without keeping what it needs for
/// gradients: the backward pass calls it once more (Chen et al. 2016, "Training deep nets with
/// sublinear memory cost"). Values and gradients are those of body itself, bit by bit. Of
/// variables it may read `inputs` and the leaves of parameters alone.
Variable recomputed(Run& run, std::span<const Variable> inputs,
                    std::function<Variable(Run&, std::span<const Variable>)> body);

/// Rows of hidden states against their targets through a vocabulary head, in chunks of rows: the
/// full [N, V] logits never exist. Gradients are computed along with the losses when wanted.
struct CrossEntropy {
  Variable loss;     ///< one element: factor * sum of the losses
  Tensor losses;     ///< [N] nats; 0 where a target is negative (not scored)
  double total = 0;  ///< sum of the losses, in double
};
struct CrossEntropyOptions {
  double factor = 1;               ///< usually 1 / scored targets of the global batch
  double head_scale = 1;           ///< multiplies the hidden states first
  double smoothing = 0;            ///< label smoothing
  int64_t classes = 0;             ///< rows of the weight that count, from the first on; 0: all
  int64_t chunk_bytes = 32 << 20;  ///< most bytes of logits at once
};
/// hidden [..., D], weight [V, D], bias [V] or undefined, targets i32 with as many elements as
/// rows.
CrossEntropy cross_entropy(Run& run, const Variable& hidden, const Variable& weight,
                           const Variable& bias, const Tensor& targets,
                           const CrossEntropyOptions& options);

}  // namespace tapemeasure
