// SPDX-License-Identifier: MIT
#include "attention_cases.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"

namespace tapemeasure::test {

void set(const Tensor& tensor, int64_t index, double value) {
  if (tensor.dtype() == DType::kF64) {
    tensor.data<double>()[index] = value;
  } else {
    tensor.data<float>()[index] = static_cast<float>(value);
  }
}

double get(const Tensor& tensor, int64_t index) {
  return tensor.dtype() == DType::kF64 ? tensor.data<double>()[index] : tensor.data<float>()[index];
}

std::vector<double> values(const Tensor& tensor) {
  std::vector<double> all(tensor.count());
  for (int64_t n = 0; n < tensor.count(); ++n) all[n] = get(tensor, n);
  return all;
}

Tensor AttentionProblem::random(const Shape& shape, double deviation) {
  const Tensor tensor = empty(backend_, shape, dtype_);
  const uint64_t key = random_key(7, Stream::kInitialisation, 0, drawn_++);
  for (int64_t n = 0; n < tensor.count(); ++n) {
    set(tensor, n, static_cast<float>(deviation * random_normal(key, n)));
  }
  return tensor;
}

Tensor AttentionProblem::integers(const std::vector<int32_t>& values, const Shape& shape) const {
  if (values.empty()) return {};
  const Tensor tensor = empty(backend_, shape, DType::kI32);
  std::copy(values.begin(), values.end(), tensor.data<int32_t>());
  return tensor;
}

OffsetMap AttentionProblem::map(MapKind kind, int64_t size, int64_t& rows) const {
  const AttentionShape& s = call.shape;
  const int64_t first = s.first_key - (s.first_query + s.queries - 1);
  const int64_t last = s.first_key + s.keys - 1 - s.first_query;
  std::vector<int32_t> row(last - first + 1);
  for (int64_t r = first; r <= last; ++r) {
    const int64_t far = std::abs(r), log = static_cast<int64_t>(2 * std::log2(1.0 + far));
    const int64_t of[] = {last - r,
                          r - first,
                          std::clamp(r, -size, size) + size,
                          std::clamp<int64_t>(size - r, 0, 2 * size - 1),
                          std::min(size, far < 4 ? far : log) + (r > 0 ? size + 1 : 0),
                          (r - first) * 7919 % (2 * size + 1)};
    row[r - first] = static_cast<int32_t>(of[static_cast<int>(kind)]);
  }
  const int64_t one_each = last - first + 1;
  const int64_t count[] = {one_each, one_each, 2 * size + 1, 2 * size, 2 * size + 2, 2 * size + 1};
  rows = count[static_cast<int>(kind)];
  return {integers(row, {static_cast<int64_t>(row.size())}), first};
}

AttentionProblem::AttentionProblem(Backend& backend, DType dtype, const AttentionCase& given)
    : backend_(backend), dtype_(dtype), write_(given.write) {
  call.shape = given.shape;
  const AttentionShape& s = call.shape;
  const int64_t width = s.heads * s.width;
  if (given.packed) {
    const Tensor all = random({s.batch * s.keys, 3 * width + 7}, 1);
    call.q = {all, s.keys, 3};
    call.k = {all, s.keys, 3 + width};
    call.v = {all, s.keys, 5 + 2 * width};
  } else {
    call.q = {random({s.batch * s.queries, width}, 1), s.queries, 0};
    // Keys and values as in a cache with room for two more rows.
    call.k = {random({s.batch * (s.keys + 2), width + 1}, 1), s.keys + 2, 1};
    call.v = {random({s.batch * s.keys, width}, 1), s.keys, 0};
  }
  call.mask.causal = given.causal;
  call.mask.window = given.window;
  call.mask.key_begin = integers(given.key_begin, {s.batch});
  call.mask.key_end = integers(given.key_end, {s.batch});
  call.mask.documents = integers(given.documents, {s.batch, s.keys});
  call.mask.prefix = integers(given.prefix, {s.batch});
  call.dropout = {given.dropout, 0x123456789ABCDEFull, 5};
  add_terms(given);
  dout = random({s.batch * s.queries, width}, 1);
  out = empty(backend, dout.shape(), dtype);
  log_sum_exp = empty(backend, {s.batch, s.heads, s.queries}, dtype);
}

void AttentionProblem::add_terms(const AttentionCase& given) {
  const AttentionShape& s = call.shape;
  AttentionTermsOf<Tensor>& terms = call.terms;
  const auto has = [&](char term) { return given.terms.find(term) != std::string::npos; };
  terms.scale = 1 / std::sqrt(static_cast<double>(s.width));
  if (has('u')) terms.content_bias = random({s.heads, s.width}, 0.5);
  if (has('v')) terms.position_bias = random({s.heads, s.width}, 0.5);
  const auto table = [&](char term, OffsetTable<Tensor>& to) {
    if (!has(term)) return;
    int64_t rows = 0;
    to.map = map(given.map, given.size, rows);
    to.layout = given.layout;
    to.table = given.layout == TableLayout::kShared    ? random({rows, s.width}, 0.7)
               : given.layout == TableLayout::kPerHead ? random({s.heads, rows, s.width}, 0.7)
                                                       : random({rows, s.heads * s.width}, 0.7);
  };
  table('q', terms.query_table);
  table('k', terms.key_table);
  table('e', terms.value_table);
  if (!has('b')) return;
  int64_t rows = 0;
  terms.bias_map = map(given.map, given.size, rows);
  terms.bias = random({s.heads, rows}, 1);
}

std::vector<std::pair<std::string, Tensor>> AttentionProblem::inputs() const {
  const AttentionTermsOf<Tensor>& terms = call.terms;
  std::vector<std::pair<std::string, Tensor>> all = {{"q", call.q.tensor}};
  if (call.k.tensor.raw() != call.q.tensor.raw()) {
    all.insert(all.end(), {{"k", call.k.tensor}, {"v", call.v.tensor}});
  }
  const std::pair<std::string, Tensor> optional[] = {
      {"content_bias", terms.content_bias},     {"position_bias", terms.position_bias},
      {"query_table", terms.query_table.table}, {"key_table", terms.key_table.table},
      {"value_table", terms.value_table.table}, {"bias", terms.bias}};
  for (const auto& input : optional) {
    if (input.second.defined()) all.push_back(input);
  }
  return all;
}

double AttentionProblem::loss() const {
  double sum = 0;
  for (int64_t n = 0; n < out.count(); ++n) sum += get(out, n) * get(dout, n);
  return sum;
}

std::vector<Named> AttentionProblem::run() {
  forward();
  AttentionGradients to;
  std::vector<std::pair<std::string, Tensor>> all = {{"out", out}, {"log_sum_exp", log_sum_exp}};
  for (const auto& [name, input] : inputs()) {
    // Not zero: what a kernel has to leave alone, set or add to.
    const Tensor gradient = empty(backend_, input.shape(), dtype_);
    for (int64_t n = 0; n < gradient.count(); ++n) set(gradient, n, 0.25);
    all.emplace_back("d" + name, gradient);
    if (name == "q") {
      to.q = {gradient, call.q.rows, call.q.first_column};
      to.k = {gradient, call.k.rows, call.k.first_column};
      to.v = {gradient, call.v.rows, call.v.first_column};
    }
    if (name == "k") to.k.tensor = gradient;
    if (name == "v") to.v.tensor = gradient;
    const Into into(gradient, write_);
    if (name == "content_bias") to.content_bias = into;
    if (name == "position_bias") to.position_bias = into;
    if (name == "query_table") to.query_table = into;
    if (name == "key_table") to.key_table = into;
    if (name == "value_table") to.value_table = into;
    if (name == "bias") to.bias = into;
  }
  to.write_q = to.write_k = to.write_v = write_;
  backend_.attention_grad(call, out, log_sum_exp, dout, to);
  std::vector<Named> results;
  for (const auto& [name, tensor] : all) results.emplace_back(name, values(tensor));
  return results;
}

}  // namespace tapemeasure::test
