// SPDX-License-Identifier: MIT
// B sequences, T queries, S keys, H heads, d head width.
#include "app/report/attention_view.h"

#include <algorithm>

#include "core/host.h"

namespace tapemeasure {

namespace {

/// Where the tokens of a sequence end.
int64_t end_of(const AttentionCall& call, int64_t sequence, int64_t rows) {
  const Tensor& end = call.mask.key_end;
  return end.defined() ? std::min<int64_t>(rows, end.data<int32_t>()[sequence]) : rows;
}

/// The offset key - query in absolute positions.
int64_t offset_of(const AttentionShape& shape, const PairOfTokens& pair) {
  return shape.first_key + pair.key - shape.first_query - pair.query;
}

/// Values [B, S, H * d]: key first + c has 1 in channel c of each head.
Tensor unit_values(const AttentionCall& call, int64_t first) {
  const AttentionShape& s = call.shape;
  const int64_t columns = s.heads * s.width;
  std::vector<double> values(static_cast<size_t>(s.batch * s.keys * columns), 0);
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t c = 0; c < s.width && first + c < s.keys; ++c) {
      for (int64_t h = 0; h < s.heads; ++h) {
        values[static_cast<size_t>((b * s.keys + first + c) * columns + h * s.width + c)] = 1;
      }
    }
  }
  const Tensor& q = call.q.tensor;
  return to_tensor(q.backend(), {s.batch, s.keys, columns}, q.dtype(), values);
}

}  // namespace

void visit_probabilities(const AttentionCall& call,
                         const std::function<void(const PairOfTokens&, double)>& visit) {
  const AttentionShape& s = call.shape;
  Backend& backend = call.q.tensor.backend();
  const DType dtype = call.q.tensor.dtype();
  const Tensor out = empty(backend, {s.batch, s.queries, s.heads * s.width}, dtype);
  const Tensor log_sum_exp = empty(backend, {s.batch, s.heads, s.queries}, dtype);
  AttentionCall ask = call;
  ask.terms.value_table = {};
  ask.dropout = {};
  for (int64_t first = 0; first < s.keys; first += s.width) {
    ask.v = {unit_values(call, first), s.keys, 0};
    backend.attention(ask, out, log_sum_exp);
    const std::vector<double> p = to_doubles(out);
    for (int64_t b = 0; b < s.batch; ++b) {
      const int64_t queries = end_of(call, b, s.queries);
      const int64_t keys = std::min(s.width, end_of(call, b, s.keys) - first);
      for (int64_t i = 0; i < queries; ++i) {
        for (int64_t h = 0; h < s.heads; ++h) {
          const size_t row = static_cast<size_t>(((b * s.queries + i) * s.heads + h) * s.width);
          for (int64_t c = 0; c < keys; ++c) {
            visit({b, h, i, first + c}, p[row + static_cast<size_t>(c)]);
          }
        }
      }
    }
  }
}

OffsetRange offsets_shown(const AttentionCall& call, int64_t most) {
  const AttentionShape& s = call.shape;
  const int64_t back = s.first_query + s.queries - 1 - s.first_key;
  const int64_t ahead = s.first_key + s.keys - 1 - s.first_query;
  const bool causal = call.mask.causal && !call.mask.prefix.defined();
  return {-std::min(back, most), causal ? 0 : std::min(ahead, most)};
}

std::vector<double> mean_attention(const AttentionCall& call, const OffsetRange& range) {
  const size_t count = static_cast<size_t>(call.shape.heads * range.count());
  std::vector<double> sums(count, 0), pairs(count, 0);
  visit_probabilities(call, [&](const PairOfTokens& pair, double p) {
    const int64_t r = offset_of(call.shape, pair);
    if (r < range.first || r > range.last) return;
    const auto at = static_cast<size_t>(pair.head * range.count() + r - range.first);
    sums[at] += p;
    pairs[at] += 1;
  });
  for (size_t i = 0; i < count; ++i) sums[i] /= std::max(1.0, pairs[i]);
  return sums;
}

namespace {

/// The mean over tokens of head vectors, [H * d].
std::vector<double> mean_vectors(const AttentionCall& call, const HeadRows& rows, int64_t used) {
  const int64_t columns = call.shape.heads * call.shape.width;
  const int64_t all = rows.tensor.shape()[-1];
  const std::vector<double> values = to_doubles(rows.tensor);
  std::vector<double> mean(static_cast<size_t>(columns), 0);
  double tokens = 0;
  for (int64_t b = 0; b < call.shape.batch; ++b) {
    const int64_t end = end_of(call, b, used);
    tokens += static_cast<double>(end);
    for (int64_t t = 0; t < end; ++t) {
      const auto row = static_cast<size_t>((b * rows.rows + t) * all + rows.first_column);
      for (size_t c = 0; c < mean.size(); ++c) mean[c] += values[row + c];
    }
  }
  for (double& value : mean) value /= tokens;
  return mean;
}

int64_t row_at(const OffsetMap& map, int64_t r) {
  return map.rows.data<int32_t>()[r - map.first_offset];
}

/// Adds factor * x_h . table[row(r)] for every head and offset.
void add_table(const AttentionShape& shape, const OffsetTable<Tensor>& table,
               const std::vector<double>& x, double factor, const OffsetRange& range,
               std::vector<double>& scores) {
  const std::vector<double> values = to_doubles(table.table);
  const int64_t d = shape.width, rows = table.table.shape()[table.layout == TableLayout::kPerHead];
  for (int64_t h = 0; h < shape.heads; ++h) {
    for (int64_t r = range.first; r <= range.last; ++r) {
      const int64_t row = row_at(table.map, r);
      const int64_t start = table.layout == TableLayout::kShared    ? row * d
                            : table.layout == TableLayout::kPerHead ? (h * rows + row) * d
                                                                    : (row * shape.heads + h) * d;
      double dot = 0;
      for (int64_t c = 0; c < d; ++c) {
        dot += x[static_cast<size_t>(h * d + c)] * values[static_cast<size_t>(start + c)];
      }
      scores[static_cast<size_t>(h * range.count() + r - range.first)] += factor * dot;
    }
  }
}

}  // namespace

std::vector<double> position_scores(const AttentionCall& call, const OffsetRange& range) {
  const AttentionTermsOf<Tensor>& terms = call.terms;
  const AttentionShape& s = call.shape;
  const bool any =
      terms.query_table.table.defined() || terms.key_table.table.defined() || terms.bias.defined();
  if (!any) return {};
  std::vector<double> scores(static_cast<size_t>(s.heads * range.count()), 0);
  if (terms.query_table.table.defined()) {
    std::vector<double> q = mean_vectors(call, call.q, s.queries);
    if (terms.position_bias.defined()) {
      const std::vector<double> v = to_doubles(terms.position_bias);
      for (size_t c = 0; c < q.size(); ++c) q[c] += v[c];
    }
    add_table(s, terms.query_table, q, terms.scale, range, scores);
  }
  if (terms.key_table.table.defined()) {
    add_table(s, terms.key_table, mean_vectors(call, call.k, s.keys), terms.scale, range, scores);
  }
  if (terms.bias.defined()) {
    const std::vector<double> bias = to_doubles(terms.bias);
    const int64_t rows = terms.bias.shape()[1];
    for (int64_t h = 0; h < s.heads; ++h) {
      for (int64_t r = range.first; r <= range.last; ++r) {
        scores[static_cast<size_t>(h * range.count() + r - range.first)] +=
            bias[static_cast<size_t>(h * rows + row_at(terms.bias_map, r))];
      }
    }
  }
  return scores;
}

}  // namespace tapemeasure
