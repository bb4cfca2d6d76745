// SPDX-License-Identifier: MIT
// Attention, checked.
#include <algorithm>
#include <cmath>

#include "core/backends/check/check_backend.h"
#include "core/backends/check/comparison.h"

namespace tapemeasure {

using check_backend::Comparison;
using check_backend::largest;

void CheckBackend::attention(const AttentionCall& call, const Tensor& out,
                             const Tensor& log_sum_exp) {
  Comparison comparison("attention", 2e-5);
  const Tensor out_again = comparison.copy(out, largest(call.v.tensor) * 0.01);
  const Tensor log_again = comparison.copy(log_sum_exp, 1);
  checked_->attention(call, out, log_sum_exp);
  reference_.attention(call, out_again, log_again);
  comparison.finish();
}

/// A gradient may vanish in theory (equal values give no dq), so each is held to a part of what
/// its terms could at most be: |dS| <= width |dout| (|v| + |Tv|), times what it multiplies.
void CheckBackend::attention_grad(const AttentionCall& call, const Tensor& out,
                                  const Tensor& log_sum_exp, const Tensor& dout,
                                  const AttentionGradients& gradients) {
  const AttentionTermsOf<Tensor>& terms = call.terms;
  const double values = largest(call.v.tensor) + largest(terms.value_table.table);
  const double d_logits = 0.01 * static_cast<double>(call.shape.width) * largest(dout) * values;
  const double keys = largest(call.k.tensor) + largest(terms.query_table.table);
  const double queries = largest(call.q.tensor) + largest(terms.content_bias) +
                         largest(terms.position_bias) + largest(terms.key_table.table);
  const double scale = std::abs(terms.scale) * d_logits;
  Comparison comparison("attention_grad", 2e-5);
  AttentionGradients again = gradients;
  const auto copy_heads = [&](HeadRows& heads, Write write, double magnitude) {
    const Into copy = comparison.copy(Into(heads.tensor, write), magnitude);
    heads.tensor = copy.tensor;
  };
  copy_heads(again.q, gradients.write_q, scale * keys);
  copy_heads(again.k, gradients.write_k, scale * queries);
  copy_heads(again.v, gradients.write_v, largest(dout));
  again.content_bias = comparison.copy(gradients.content_bias, scale * keys);
  again.position_bias = comparison.copy(gradients.position_bias, scale * keys);
  again.query_table = comparison.copy(gradients.query_table, scale * queries);
  again.key_table = comparison.copy(gradients.key_table, scale * keys);
  again.value_table = comparison.copy(gradients.value_table, largest(dout));
  again.bias = comparison.copy(gradients.bias, d_logits);
  checked_->attention_grad(call, out, log_sum_exp, dout, gradients);
  reference_.attention_grad(call, out, log_sum_exp, dout, again);
  comparison.finish();
}

}  // namespace tapemeasure
