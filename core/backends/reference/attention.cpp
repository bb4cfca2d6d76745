// SPDX-License-Identifier: MIT
#include "core/backends/reference/attention.h"

#include <cmath>
#include <limits>

#include "core/backends/attention_views.h"
#include "core/backends/reference/scratch.h"
#include "core/random.h"

namespace tapemeasure::reference {

namespace {

template <class T>
T* data_of(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

template <class T>
TableView<T> view_of(const OffsetTable<Tensor>& terms, int64_t width) {
  if (!terms.table.defined()) return {};
  return {terms.table.data<T>(), terms.table.shape(), terms.layout, width};
}

/// One call, pair by pair. b sequence, h head, i query, j key, c channel.
template <class T>
class Pairs {
 public:
  explicit Pairs(const AttentionCall& call)
      : call(call),
        shape(call.shape),
        q(call.q, shape.width),
        k(call.k, shape.width),
        v(call.v, shape.width),
        query_table(view_of<T>(call.terms.query_table, shape.width)),
        key_table(view_of<T>(call.terms.key_table, shape.width)),
        value_table(view_of<T>(call.terms.value_table, shape.width)),
        content_bias(data_of<T>(call.terms.content_bias)),
        position_bias(data_of<T>(call.terms.position_bias)),
        bias(data_of<T>(call.terms.bias)) {}

  int64_t offset(int64_t i, int64_t j) const {
    return (shape.first_key + j) - (shape.first_query + i);
  }

  bool visible(int64_t b, int64_t i, int64_t j) const {
    const AttentionMask& mask = call.mask;
    const int64_t r = offset(i, j);
    const bool in_prefix = mask.prefix.defined() && j < mask.prefix.data<int32_t>()[b];
    if (mask.causal && r > 0 && !in_prefix) return false;
    if (mask.window > 0 && std::abs(r) >= mask.window) return false;
    if (mask.key_begin.defined() && j < mask.key_begin.data<int32_t>()[b]) return false;
    if (mask.key_end.defined() && j >= mask.key_end.data<int32_t>()[b]) return false;
    if (!mask.documents.defined()) return true;
    const int32_t* documents = mask.documents.data<int32_t>() + b * shape.keys;
    return documents[j] == documents[shape.first_query + i - shape.first_key];
  }

  /// What dropout multiplies the probability of a pair by.
  double kept(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const Dropout& how = call.dropout;
    if (!how.active()) return 1;
    const uint64_t element = dropout_element(h, shape.first_query + i, shape.first_key + j);
    const auto sequence = static_cast<uint64_t>(how.first_sequence + b);
    const bool dropped = random_word(how.key, sequence, element) < how.threshold();
    return dropped ? 0 : 1 / (1 - how.rate);
  }

  double query_and_content_bias(int64_t b, int64_t h, int64_t i, int64_t c) const {
    return static_cast<double>(q.at(b, i, h)[c]) +
           (content_bias ? content_bias[h * shape.width + c] : T(0));
  }
  double query_and_position_bias(int64_t b, int64_t h, int64_t i, int64_t c) const {
    return static_cast<double>(q.at(b, i, h)[c]) +
           (position_bias ? position_bias[h * shape.width + c] : T(0));
  }
  T* query_row(int64_t h, int64_t r) const {
    return query_table.at(h, row_of(call.terms.query_table.map, r));
  }
  T* key_row(int64_t h, int64_t r) const {
    return key_table.at(h, row_of(call.terms.key_table.map, r));
  }
  T* value_row(int64_t h, int64_t r) const {
    return value_table.at(h, row_of(call.terms.value_table.map, r));
  }
  int64_t bias_element(int64_t h, int64_t r) const {
    return h * call.terms.bias.shape()[1] + row_of(call.terms.bias_map, r);
  }

  double logit(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const int64_t r = offset(i, j);
    const T* key = k.at(b, j, h);
    double sum = 0;
    for (int64_t c = 0; c < shape.width; ++c) {
      sum += query_and_content_bias(b, h, i, c) * key[c];
      if (query_table) sum += query_and_position_bias(b, h, i, c) * query_row(h, r)[c];
      if (key_table) sum += static_cast<double>(key[c]) * key_row(h, r)[c];
    }
    sum *= call.terms.scale;
    return bias ? sum + bias[bias_element(h, r)] : sum;
  }

  /// p[j] of row i, 0 where hidden; returns the log-sum-exp.
  double softmax(int64_t b, int64_t h, int64_t i, Scratch& p) const {
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    double top = kNone, sum = 0;
    for (int64_t j = 0; j < shape.keys; ++j) {
      p[j] = visible(b, i, j) ? logit(b, h, i, j) : kNone;
      top = std::max(top, p[j]);
    }
    for (double& x : p) sum += x = x == kNone ? 0 : std::exp(x - top);
    if (sum == 0) return kNone;
    for (double& x : p) x /= sum;
    return top + std::log(sum);
  }

  /// value_j + Tv[e(r)].
  double value(int64_t b, int64_t h, int64_t i, int64_t j, int64_t c) const {
    const double plain = v.at(b, j, h)[c];
    return value_table ? plain + value_row(h, offset(i, j))[c] : plain;
  }

  const AttentionCall& call;
  const AttentionShape& shape;
  HeadView<T> q, k, v;
  TableView<T> query_table, key_table, value_table;
  const T *content_bias, *position_bias, *bias;
};

/// Gradients gathered in double, then written at once.
template <class T>
class Sums {
 public:
  Sums(const Pairs<T>& x, const AttentionGradients& to) : x_(x), to_(to) {
    const AttentionShape& s = x.shape;
    q.resize(s.batch * s.queries * s.heads * s.width);
    k.resize(s.batch * s.keys * s.heads * s.width);
    v.resize(k.size());
    content_bias.resize(s.heads * s.width);
    position_bias.resize(s.heads * s.width);
    const AttentionTermsOf<Tensor>& terms = x.call.terms;
    query_rows_ = like(terms.query_table, query_table);
    key_rows_ = like(terms.key_table, key_table);
    value_rows_ = like(terms.value_table, value_table);
    if (terms.bias.defined()) bias.resize(terms.bias.count());
  }

  double* q_at(int64_t b, int64_t i, int64_t h) { return at(q, b * x_.shape.queries + i, h); }
  double* k_at(int64_t b, int64_t j, int64_t h) { return at(k, b * x_.shape.keys + j, h); }
  double* v_at(int64_t b, int64_t j, int64_t h) { return at(v, b * x_.shape.keys + j, h); }
  double* query_row(int64_t h, int64_t r) {
    return query_rows_.at(h, row_of(x_.call.terms.query_table.map, r));
  }
  double* key_row(int64_t h, int64_t r) {
    return key_rows_.at(h, row_of(x_.call.terms.key_table.map, r));
  }
  double* value_row(int64_t h, int64_t r) {
    return value_rows_.at(h, row_of(x_.call.terms.value_table.map, r));
  }

  void write() const {
    write(q, x_.shape.queries, to_.q, to_.write_q);
    write(k, x_.shape.keys, to_.k, to_.write_k);
    write(v, x_.shape.keys, to_.v, to_.write_v);
    write(content_bias, to_.content_bias);
    write(position_bias, to_.position_bias);
    write(query_table, to_.query_table);
    write(key_table, to_.key_table);
    write(value_table, to_.value_table);
    write(bias, to_.bias);
  }

  Scratch q, k, v, content_bias, position_bias;
  Scratch query_table, key_table, value_table, bias;

 private:
  TableView<double> like(const OffsetTable<Tensor>& terms, Scratch& sums) const {
    if (!terms.table.defined()) return {};
    sums.resize(terms.table.count());
    return {sums.data(), terms.table.shape(), terms.layout, x_.shape.width};
  }
  double* at(Scratch& sums, int64_t row, int64_t h) const {
    return sums.data() + (row * x_.shape.heads + h) * x_.shape.width;
  }
  static void put(T& y, double value, Write write) {
    y = static_cast<T>(write == Write::kAdd ? y + value : value);
  }
  void write(const Scratch& sums, int64_t rows, const HeadRows& to, Write write) const {
    const AttentionShape& s = x_.shape;
    const HeadView<T> y(to, s.width);
    if (!y) return;
    size_t n = 0;
    for (int64_t b = 0; b < s.batch; ++b) {
      for (int64_t t = 0; t < rows; ++t) {
        for (int64_t e = 0; e < s.heads * s.width; ++e) put(y.at(b, t, 0)[e], sums[n++], write);
      }
    }
  }
  static void write(const Scratch& sums, const Into& to) {
    if (!to.defined()) return;
    for (size_t n = 0; n < sums.size(); ++n) put(to.tensor.data<T>()[n], sums[n], to.write);
  }

  const Pairs<T>& x_;
  const AttentionGradients& to_;
  TableView<double> query_rows_, key_rows_, value_rows_;
};

template <class T>
void forward(const AttentionCall& call, const Tensor& out, const Tensor& log_sum_exp) {
  const Pairs<T> x(call);
  const AttentionShape& s = call.shape;
  Scratch p(s.keys), sum(s.width);
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.heads; ++h) {
      for (int64_t i = 0; i < s.queries; ++i) {
        log_sum_exp.data<T>()[(b * s.heads + h) * s.queries + i] =
            static_cast<T>(x.softmax(b, h, i, p));
        std::fill(sum.begin(), sum.end(), 0);
        for (int64_t j = 0; j < s.keys; ++j) {
          if (p[j] == 0) continue;
          const double weight = p[j] * x.kept(b, h, i, j);
          for (int64_t c = 0; c < s.width; ++c) sum[c] += weight * x.value(b, h, i, j, c);
        }
        T* y = out.data<T>() + ((b * s.queries + i) * s.heads + h) * s.width;
        for (int64_t c = 0; c < s.width; ++c) y[c] = static_cast<T>(sum[c]);
      }
    }
  }
}

/// Adds the gradients of one pair, given its weight in `out` and the gradient of its logit.
template <class T>
void add_pair(const Pairs<T>& x, Sums<T>& to, int64_t b, int64_t h, int64_t i, int64_t j,
              const T* dy, double weight, double dlogit) {
  const int64_t r = x.offset(i, j), width = x.shape.width;
  const double e = x.call.terms.scale * dlogit;
  const T* key = x.k.at(b, j, h);
  if (x.bias) to.bias[x.bias_element(h, r)] += dlogit;
  for (int64_t c = 0; c < width; ++c) {
    to.v_at(b, j, h)[c] += weight * dy[c];
    if (x.value_table) to.value_row(h, r)[c] += weight * dy[c];
    to.q_at(b, i, h)[c] += e * key[c];
    to.content_bias[h * width + c] += e * key[c];
    to.k_at(b, j, h)[c] += e * x.query_and_content_bias(b, h, i, c);
    if (x.query_table) {
      const double row = x.query_row(h, r)[c];
      to.q_at(b, i, h)[c] += e * row;
      to.position_bias[h * width + c] += e * row;
      to.query_row(h, r)[c] += e * x.query_and_position_bias(b, h, i, c);
    }
    if (x.key_table) {
      to.k_at(b, j, h)[c] += e * x.key_row(h, r)[c];
      to.key_row(h, r)[c] += e * key[c];
    }
  }
}

template <class T>
void backward(const AttentionCall& call, const Tensor& dout, const AttentionGradients& gradients) {
  const Pairs<T> x(call);
  Sums<T> sums(x, gradients);
  const AttentionShape& s = call.shape;
  Scratch p(s.keys), dp(s.keys), kept(s.keys);
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.heads; ++h) {
      for (int64_t i = 0; i < s.queries; ++i) {
        x.softmax(b, h, i, p);
        const T* dy = dout.data<T>() + ((b * s.queries + i) * s.heads + h) * s.width;
        double mean = 0;
        for (int64_t j = 0; j < s.keys; ++j) {
          if (p[j] == 0) continue;
          kept[j] = x.kept(b, h, i, j);
          dp[j] = 0;
          for (int64_t c = 0; c < s.width; ++c) dp[j] += dy[c] * x.value(b, h, i, j, c);
          dp[j] *= kept[j];
          mean += p[j] * dp[j];
        }
        for (int64_t j = 0; j < s.keys; ++j) {
          if (p[j] == 0) continue;
          add_pair(x, sums, b, h, i, j, dy, p[j] * kept[j], p[j] * (dp[j] - mean));
        }
      }
    }
  }
  sums.write();
}

}  // namespace

void attention(const AttentionCall& call, const Tensor& out, const Tensor& log_sum_exp) {
  if (out.dtype() == DType::kF64) return forward<double>(call, out, log_sum_exp);
  forward<float>(call, out, log_sum_exp);
}

void attention_grad(const AttentionCall& call, const Tensor&, const Tensor&, const Tensor& dout,
                    const AttentionGradients& gradients) {
  if (dout.dtype() == DType::kF64) return backward<double>(call, dout, gradients);
  backward<float>(call, dout, gradients);
}

}  // namespace tapemeasure::reference
