// SPDX-License-Identifier: MIT
// What the position terms cost: forward, and forward with backward, of the CPU's fused attention
// for each kind of terms (rope: with the rotations), at long shapes and at a small one. Counter
// `ratio` is the time over that of plain attention at the same shape.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "core/backend.h"
#include "core/random.h"

namespace tapemeasure {
namespace {

enum class Kind { kNone, kBias, kLearnedBias, kShaw, kTransformerXl, kDeberta, kRope };

Tensor random(Backend& backend, const Shape& shape) {
  static uint64_t drawn = 0;
  const Tensor tensor = empty(backend, shape, DType::kF32);
  const uint64_t key = random_key(1, Stream::kInitialisation, 0, drawn++);
  for (int64_t n = 0; n < tensor.count(); ++n) {
    tensor.data<float>()[n] = static_cast<float>(0.5 * random_normal(key, n));
  }
  return tensor;
}

struct Problem {
  Problem(Backend& backend, Kind kind, const AttentionShape& shape, double dropout);
  void forward() {
    if (turned.defined())
      backend.rotate(rotation, packed_rows(packed), packed_rows(turned), Write::kSet);
    backend.attention(call, out, log_sum_exp);
  }
  void backward() {
    backend.attention_grad(call, out, log_sum_exp, dout, gradients);
    if (!turned.defined()) return;
    Backend::Rotation back = rotation;
    back.inverse = true;
    backend.rotate(back, packed_rows(dturned), packed_rows(dpacked), Write::kSet);
  }

  Backend& backend;
  AttentionCall call;
  AttentionGradients gradients;
  Tensor packed, dpacked, out, log_sum_exp, dout;
  Tensor turned, dturned;  // queries and keys side by side; undefined: not turned
  Backend::Rotation rotation;

 private:
  HeadRows packed_rows(const Tensor& tensor) const { return {tensor, call.shape.queries, 0}; }
  void turn();
  /// Offsets to rows, of causal calls: row(distance).
  OffsetMap map(const std::function<int64_t(int64_t)>& row) const;
};

OffsetMap Problem::map(const std::function<int64_t(int64_t)>& row) const {
  const int64_t length = call.shape.queries;
  const Tensor rows = empty(backend, {2 * length - 1}, DType::kI32);
  for (int64_t r = 1 - length; r < length; ++r) {
    rows.data<int32_t>()[r + length - 1] = static_cast<int32_t>(row(std::max<int64_t>(0, -r)));
  }
  return {rows, 1 - length};
}

Problem::Problem(Backend& backend, Kind kind, const AttentionShape& shape, double dropout)
    : backend(backend) {
  call.shape = shape;
  call.dropout = {dropout, 1, 0};
  const int64_t columns = shape.heads * shape.width, rows = shape.batch * shape.queries;
  packed = random(backend, {rows, 3 * columns});
  dpacked = empty_like(packed);
  call.q = {packed, shape.queries, 0};
  call.k = {packed, shape.queries, columns};
  call.v = {packed, shape.queries, 2 * columns};
  gradients.q = {dpacked, shape.queries, 0};
  gradients.k = {dpacked, shape.queries, columns};
  gradients.v = {dpacked, shape.queries, 2 * columns};
  out = empty(backend, {rows, columns}, DType::kF32);
  dout = random(backend, {rows, columns});
  log_sum_exp = empty(backend, {shape.batch, shape.heads, shape.queries}, DType::kF32);
  AttentionTermsOf<Tensor>& terms = call.terms;
  terms.scale = 1 / std::sqrt(static_cast<double>(shape.width));
  const auto clipped = [&](int64_t limit) {
    return map([limit](int64_t distance) { return std::min(distance, limit); });
  };
  if (kind == Kind::kBias || kind == Kind::kLearnedBias) {
    terms.bias = random(backend, {shape.heads, shape.queries});
    terms.bias_map = clipped(shape.queries);
    if (kind == Kind::kLearnedBias) gradients.bias = empty_like(terms.bias);
  } else if (kind == Kind::kShaw) {
    terms.query_table = {random(backend, {17, shape.width}), TableLayout::kShared, clipped(16)};
    terms.value_table = {random(backend, {17, shape.width}), TableLayout::kShared, clipped(16)};
    gradients.value_table = empty_like(terms.value_table.table);
  } else if (kind == Kind::kTransformerXl) {
    terms.content_bias = random(backend, {shape.heads, shape.width});
    terms.position_bias = random(backend, {shape.heads, shape.width});
    terms.query_table = {random(backend, {shape.queries, columns}), TableLayout::kProjected,
                         clipped(shape.queries)};
    gradients.content_bias = empty_like(terms.content_bias);
    gradients.position_bias = empty_like(terms.position_bias);
  } else if (kind == Kind::kRope) {
    turn();
  } else if (kind == Kind::kDeberta) {
    terms.query_table = {random(backend, {65, columns}), TableLayout::kProjected, clipped(64)};
    terms.key_table = {random(backend, {65, columns}), TableLayout::kProjected, clipped(64)};
    gradients.key_table = empty_like(terms.key_table.table);
  }
  if (terms.query_table.table.defined())
    gradients.query_table = empty_like(terms.query_table.table);
}

void Problem::turn() {
  const AttentionShape& shape = call.shape;
  const int64_t columns = shape.heads * shape.width;
  turned = empty(backend, {shape.batch * shape.queries, 2 * columns}, DType::kF32);
  dturned = empty_like(turned);
  rotation = {.cosine = random(backend, {shape.queries, shape.width / 2}),
              .sine = random(backend, {shape.queries, shape.width / 2}),
              .rows = shape.queries,
              .heads = 2 * shape.heads,
              .width = shape.width};
  call.q = {turned, shape.queries, 0};
  call.k = {turned, shape.queries, columns};
  gradients.q = {dturned, shape.queries, 0};
  gradients.k = {dturned, shape.queries, columns};
}

void attention_bench(benchmark::State& state, Kind kind, AttentionShape shape, double dropout,
                     bool backward) {
  const auto backend = make_backend("cpu", 2);
  Problem plain(*backend, Kind::kNone, shape, dropout), problem(*backend, kind, shape, dropout);
  using Clock = std::chrono::steady_clock;
  // Interleaved, and the least of each, so that other work on the machine disturbs both alike.
  const auto least = [&](Problem& of, double so_far) {
    const auto begin = Clock::now();
    of.forward();
    if (backward) of.backward();
    return std::min(so_far, std::chrono::duration<double>(Clock::now() - begin).count());
  };
  double plain_time = 1e9, time = 1e9;
  for (auto _ : state) {
    plain_time = least(plain, plain_time);
    time = least(problem, time);
  }
  const double pairs = 0.5 * shape.batch * shape.heads * shape.queries * shape.queries;
  const double products = backward ? 7 : 2;
  state.counters["us"] = time * 1e6;
  state.counters["ratio"] = time / plain_time;
  state.counters["plain_gflops"] = products * 2 * pairs * shape.width / plain_time * 1e-9;
}

[[maybe_unused]] const bool registered = [] {
  const std::pair<std::string, AttentionShape> shapes[] = {{"long", {4, 4, 64, 1024, 1024, 0, 0}},
                                                           {"1024", {1, 4, 64, 1024, 1024, 0, 0}},
                                                           {"2048", {1, 4, 64, 2048, 2048, 0, 0}},
                                                           {"4096", {1, 4, 64, 4096, 4096, 0, 0}},
                                                           {"small", {12, 4, 32, 64, 64, 0, 0}}};
  const std::pair<std::string, Kind> kinds[] = {{"none", Kind::kNone},
                                                {"alibi", Kind::kBias},
                                                {"t5", Kind::kLearnedBias},
                                                {"shaw", Kind::kShaw},
                                                {"transformer_xl", Kind::kTransformerXl},
                                                {"deberta", Kind::kDeberta},
                                                {"rope", Kind::kRope}};
  for (const auto& [shape_name, shape] : shapes) {
    for (const bool backward : {false, true}) {
      for (const auto& [name, kind] : kinds) {
        const std::string full =
            shape_name + "/" + (backward ? "forward+backward/" : "forward/") + name;
        benchmark::RegisterBenchmark(full.c_str(), attention_bench, kind, shape, 0.0, backward);
      }
    }
    benchmark::RegisterBenchmark((shape_name + "/forward+backward/dropout").c_str(),
                                 attention_bench, Kind::kNone, shape, 0.1, true);
  }
  return true;
}();

}  // namespace
}  // namespace tapemeasure
