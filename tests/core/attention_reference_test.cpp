// SPDX-License-Identifier: MIT
// The reference attention against finite differences, and both attentions against golden vectors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "attention_cases.h"

namespace tapemeasure::test {

namespace {

class AttentionGradient : public testing::TestWithParam<AttentionCase> {};

/// Central differences of the loss by every element of every input, in double.
TEST_P(AttentionGradient, EqualsFiniteDifferences) {
  const auto backend = make_backend("reference");
  AttentionProblem problem(*backend, DType::kF64, GetParam());
  const auto results = problem.run();
  constexpr double kStep = 1e-5;
  for (const auto& [name, input] : problem.inputs()) {
    const auto gradient = std::find_if(results.begin(), results.end(), [&, &name = name](auto& x) {
      return x.first == "d" + name;
    });
    ASSERT_NE(gradient, results.end());
    for (int64_t n = 0; n < input.count(); ++n) {
      const double x = get(input, n);
      set(input, n, x + kStep);
      problem.forward();
      const double above = problem.loss();
      set(input, n, x - kStep);
      problem.forward();
      const double slope = (above - problem.loss()) / (2 * kStep);
      set(input, n, x);
      // Gradients begin at 0.25; what belongs to no head is left alone, and has no slope either.
      double expected = slope;
      if (GetParam().write == Write::kAdd) expected += 0.25;
      if (slope == 0 && gradient->second[n] == 0.25) continue;
      EXPECT_NEAR(gradient->second[n], expected, 2e-8 * std::max(1.0, std::abs(slope)))
          << name << " " << n;
    }
  }
}

constexpr AttentionShape kSmall = {2, 2, 3, 4, 4, 0, 0};
const AttentionCase kCases[] = {
    {.name = "plain", .shape = kSmall, .terms = ""},
    {.name = "content_bias", .shape = kSmall, .terms = "u"},
    {.name = "query_table", .shape = kSmall, .terms = "q", .size = 2},
    {.name = "position_bias", .shape = kSmall, .terms = "qv", .map = MapKind::kDistance},
    {.name = "key_table", .shape = kSmall, .terms = "k", .map = MapKind::kDeberta, .size = 2},
    {.name = "value_table", .shape = kSmall, .terms = "e", .size = 2},
    {.name = "bias", .shape = kSmall, .terms = "b", .map = MapKind::kBuckets},
    {.name = "all", .shape = kSmall, .terms = "uvqkeb", .size = 2},
    {.name = "per_head", .shape = kSmall, .terms = "uvqkeb", .layout = TableLayout::kPerHead},
    {.name = "projected", .shape = kSmall, .terms = "uvqkeb", .layout = TableLayout::kProjected},
    {.name = "scattered", .shape = kSmall, .terms = "uvqkeb", .map = MapKind::kScattered},
    {.name = "full", .shape = kSmall, .terms = "uvqkeb", .causal = false},
    {.name = "memory", .shape = {1, 2, 3, 3, 6, 5, 2}, .terms = "uvqkeb"},
    {.name = "window", .shape = {1, 2, 3, 5, 5, 0, 0}, .terms = "uvqkeb", .window = 2},
    {.name = "key_ranges",
     .shape = kSmall,
     .terms = "uvqkeb",
     .causal = false,
     .key_begin = {1, 0},
     .key_end = {3, 0}},
    {.name = "documents",
     .shape = kSmall,
     .terms = "uvqkeb",
     .documents = {0, 0, 1, 1, 5, 4, 4, 4}},
    {.name = "prefix", .shape = kSmall, .terms = "uvqkeb", .size = 2, .prefix = {3, 0}},
    {.name = "prefix_window",
     .shape = {1, 2, 3, 5, 5, 0, 0},
     .terms = "uvqkeb",
     .window = 2,
     .prefix = {4}},
    {.name = "dropout", .shape = kSmall, .terms = "uvqkeb", .dropout = 0.4},
    {.name = "packed", .shape = kSmall, .terms = "uvqkeb", .packed = true},
    {.name = "add", .shape = kSmall, .terms = "uvqkeb", .write = Write::kAdd},
};
INSTANTIATE_TEST_SUITE_P(Terms, AttentionGradient, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

TEST(AttentionReference, ARowThatSeesNothingIsZero) {
  const auto backend = make_backend("reference");
  AttentionProblem problem(
      *backend, DType::kF64,
      {.name = "", .shape = {1, 1, 3, 4, 4, 0, 0}, .terms = "uvqkeb", .key_begin = {2}});
  const auto results = problem.run();
  for (int64_t c = 0; c < 6; ++c) EXPECT_EQ(get(problem.out, c), 0);
  EXPECT_EQ(get(problem.log_sum_exp, 1), -INFINITY);
  for (int64_t c = 0; c < 6; ++c) EXPECT_EQ(results[2].second[c], 0) << results[2].first;
  EXPECT_NE(get(problem.out, 6), 0);
}

/// As methods without memory of the dropped ones do it: out = sum of kept p * value / (1 - rate).
TEST(AttentionReference, DropoutKeepsTheMean) {
  const auto backend = make_backend("reference");
  AttentionCase given = {
      .name = "", .shape = {200, 1, 1, 8, 8, 0, 0}, .terms = "", .causal = false, .dropout = 0.25};
  AttentionProblem problem(*backend, DType::kF64, given);
  for (int64_t n = 0; n < problem.call.v.tensor.count(); ++n) set(problem.call.v.tensor, n, 1);
  problem.forward();
  double sum = 0;
  for (const double y : values(problem.out)) sum += y / problem.out.count();
  EXPECT_NEAR(sum, 1, 0.02);
  EXPECT_NE(get(problem.out, 0), 1);
}

// -- Golden vectors: made by an independent program, in double.

using Numbers = std::vector<double>;

void flatten(const nlohmann::json& x, Numbers& to) {
  if (x.is_number()) return to.push_back(x.get<double>());
  for (const auto& part : x) flatten(part, to);
}

class AttentionGolden : public testing::TestWithParam<DType> {
 protected:
  static constexpr int64_t kHeads = 2, kWidth = 4;

  AttentionGolden() : backend_(make_backend(GetParam() == DType::kF64 ? "reference" : "cpu")) {
    std::ifstream file(TAPEMEASURE_SOURCE_DIR "/tests/data/attention-goldens.json");
    goldens_ = nlohmann::json::parse(file);
  }

  Tensor tensor(const Shape& shape) { return zeros(*backend_, shape, GetParam()); }
  template <class F>
  Tensor table(int64_t rows, int64_t columns, F value) {
    const Tensor filled = tensor({rows, columns});
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) set(filled, r * columns + c, value(r, c));
    }
    return filled;
  }
  template <class F>
  OffsetMap map(F row) {
    const int64_t reach = 16;
    const Tensor rows = empty(*backend_, {2 * reach + 1}, DType::kI32);
    for (int64_t r = -reach; r <= reach; ++r) {
      rows.data<int32_t>()[r + reach] = static_cast<int32_t>(row(r));
    }
    return {rows, -reach};
  }

  /// Sets q, k, v and dout: `period` is that of a head in q's counter.
  void begin(int64_t queries, int64_t memory, int64_t period, bool causal) {
    call_.shape = {1, kHeads, kWidth, queries, 5, memory, 0};
    call_.mask.causal = causal;
    call_.terms.scale = 0.5;
    const auto fill = [](int64_t each, auto value) {
      return [=](int64_t row, int64_t column) {
        return value(static_cast<double>(each * (column / kWidth) + 4 * row + column % kWidth));
      };
    };
    const int64_t columns = kHeads * kWidth;
    q_ = table(queries, columns, fill(period, [](double n) { return std::sin(0.7 * (1 + n)); }));
    k_ = table(5, columns, fill(20, [](double n) { return std::cos(0.3 * (1 + n)); }));
    v_ = table(5, columns, fill(20, [](double n) { return std::sin(0.2 * (2 + n)); }));
    dout_ = table(queries, columns, fill(period, [](double n) { return std::cos(0.6 * (1 + n)); }));
    dq_ = tensor(q_.shape());
    dk_ = tensor(k_.shape());
    call_.q = {q_, queries, 0};
    call_.k = {k_, 5, 0};
    call_.v = {v_, 5, 0};
    gradients_.q = {dq_, queries, 0};
    gradients_.k = {dk_, 5, 0};
  }

  /// Runs both passes and compares what every method has.
  void run(const std::string& name) {
    golden_ = goldens_.at(name);
    const Tensor out = tensor(q_.shape());
    const Tensor lse = tensor({1, kHeads, call_.shape.queries});
    backend_->attention(call_, out, lse);
    backend_->attention_grad(call_, out, lse, dout_, gradients_);
    const auto by_head = [&](const Tensor& x) {
      Numbers all;
      for (int64_t h = 0; h < kHeads; ++h) {
        for (int64_t r = 0; r < x.shape()[0]; ++r) {
          for (int64_t c = 0; c < kWidth; ++c) all.push_back(get(x, (r * kHeads + h) * kWidth + c));
        }
      }
      return all;
    };
    expect(by_head(out), golden_["O"], "O");
    expect(by_head(dq_), golden_["grads"]["q"], "q");
    expect(by_head(dk_), golden_["grads"]["k"], "k");
  }

  void expect(const Numbers& actual, const nlohmann::json& golden, const std::string& what) {
    Numbers expected;
    flatten(golden, expected);
    ASSERT_EQ(actual.size(), expected.size()) << what;
    const double bound = GetParam() == DType::kF64 ? 1e-11 : 2e-6;
    for (size_t n = 0; n < expected.size(); ++n) {
      EXPECT_NEAR(actual[n], expected[n], bound) << what << " " << n;
    }
  }
  void expect_gradient(const Tensor& actual, const std::string& name) {
    expect(values(actual), golden_["grads"][name], name);
  }
  /// a^T b, for gradients of projections: [columns of a, columns of b].
  static Numbers product(const Tensor& a, const Tensor& b) {
    const int64_t n = a.shape()[1], m = b.shape()[1];
    Numbers c(n * m);
    for (int64_t r = 0; r < a.shape()[0]; ++r) {
      for (int64_t x = 0; x < n * m; ++x) c[x] += get(a, r * n + x / m) * get(b, r * m + x % m);
    }
    return c;
  }
  /// rows . weights^T + bias
  Tensor project(const Tensor& rows, const Tensor& weights, double bias = 0) {
    const int64_t n = rows.shape()[1];
    return table(rows.shape()[0], weights.shape()[0], [&](int64_t r, int64_t a) {
      double sum = bias * static_cast<double>(a);
      for (int64_t e = 0; e < n; ++e) sum += get(rows, r * n + e) * get(weights, a * n + e);
      return sum;
    });
  }
  void deberta(const std::string& name, int sign);

  std::unique_ptr<Backend> backend_;
  nlohmann::json goldens_, golden_;
  AttentionCall call_;
  AttentionGradients gradients_;
  Tensor q_, k_, v_, dout_, dq_, dk_;
};

TEST_P(AttentionGolden, None) {
  begin(3, 2, 12, true);
  run("nope");
}

TEST_P(AttentionGolden, Shaw) {
  begin(3, 2, 12, true);
  const OffsetMap clip = map([](int64_t r) { return std::clamp<int64_t>(r, -2, 2) + 2; });
  const auto n = [](int64_t r, int64_t c) { return static_cast<double>(1 + 4 * r + c); };
  const Tensor on_keys = table(5, 4, [&](auto r, auto c) { return 0.5 * std::cos(0.9 * n(r, c)); });
  const Tensor on_values =
      table(5, 4, [&](auto r, auto c) { return 0.5 * std::sin(0.4 * n(r, c)); });
  call_.terms.query_table = {on_keys, TableLayout::kShared, clip};
  call_.terms.value_table = {on_values, TableLayout::kShared, clip};
  gradients_.query_table = tensor({5, 4});
  gradients_.value_table = tensor({5, 4});
  run("shaw_k2");
  expect_gradient(gradients_.query_table.tensor, "aK");
  expect_gradient(gradients_.value_table.tensor, "aV");
}

TEST_P(AttentionGolden, TransformerXl) {
  begin(3, 2, 12, true);
  const Tensor sinusoids = table(5, 8, [](int64_t distance, int64_t c) {
    const double angle = static_cast<double>(distance) * std::pow(10000, -(c % 4) / 4.0);
    return c < 4 ? std::sin(angle) : std::cos(angle);
  });
  const Tensor weights =
      table(8, 8, [](auto a, auto b) { return 0.3 * std::sin(1.0 + 8 * a + b); });
  call_.terms.query_table = {project(sinusoids, weights), TableLayout::kProjected,
                             map([](int64_t r) { return std::clamp<int64_t>(-r, 0, 4); })};
  call_.terms.content_bias =
      table(2, 4, [](auto h, auto c) { return 0.1 * (h + 1.0) * (c + 1.0); });
  call_.terms.position_bias =
      table(2, 4, [](auto h, auto c) { return 0.1 * (h + 1.0) - 0.05 * c; });
  gradients_.query_table = tensor({5, 8});
  gradients_.content_bias = tensor({2, 4});
  gradients_.position_bias = tensor({2, 4});
  run("txl");
  expect_gradient(gradients_.content_bias.tensor, "u");
  expect_gradient(gradients_.position_bias.tensor, "v");
  expect(product(gradients_.query_table.tensor, sinusoids), golden_["grads"]["Wr"], "Wr");
}

TEST_P(AttentionGolden, T5) {
  begin(3, 2, 12, true);
  call_.terms.scale = 1;
  call_.terms.bias = table(2, 8, [](auto h, auto b) { return 0.1 * (h + 1.0) * (b - 3.0); });
  // Buckets (8, 16) are exact up to distance 4.
  call_.terms.bias_map = map([](int64_t r) { return std::clamp<int64_t>(-r, 0, 4); });
  gradients_.bias = tensor({2, 8});
  run("t5_nb8_md16_noscale");
  expect_gradient(gradients_.bias.tensor, "bias");
}

TEST_P(AttentionGolden, Alibi) {
  begin(3, 2, 12, true);
  call_.terms.bias = table(
      2, 5, [](auto h, auto d) { return -static_cast<double>(d) * (h ? 1.0 / 256 : 1.0 / 16); });
  call_.terms.bias_map = map([](int64_t r) { return std::clamp<int64_t>(-r, 0, 4); });
  run("alibi");
}

void AttentionGolden::deberta(const std::string& name, int sign) {
  begin(5, 0, 20, false);
  call_.terms.scale = 1 / std::sqrt(12.0);
  const Tensor positions =
      table(4, 8, [](auto r, auto e) { return 0.4 * std::cos(0.5 * (1.0 + 8 * r + e)); });
  const Tensor key_weights =
      table(8, 8, [](auto a, auto b) { return 0.3 * std::cos(1.0 + 8 * a + b); });
  const Tensor query_weights =
      table(8, 8, [](auto a, auto b) { return 0.3 * std::sin(2.0 + 8 * a + b); });
  const auto row = [](int64_t distance) { return std::clamp<int64_t>(distance + 2, 0, 3); };
  call_.terms.query_table = {project(positions, key_weights), TableLayout::kProjected,
                             map([&](int64_t r) { return row(-r); })};
  call_.terms.key_table = {project(positions, query_weights, 0.05), TableLayout::kProjected,
                           map([&](int64_t r) { return row(sign * r); })};
  gradients_.query_table = tensor({4, 8});
  gradients_.key_table = tensor({4, 8});
  run(name);
  const Tensor &dkeys = gradients_.query_table.tensor, &dqueries = gradients_.key_table.tensor;
  expect(product(dkeys, positions), golden_["grads"]["Wk"], "Wk");
  expect(product(dqueries, positions), golden_["grads"]["Wq"], "Wq");
  const Tensor ones = table(4, 1, [](auto, auto) { return 1.0; });
  expect(product(dqueries, ones), golden_["grads"]["bq"], "bq");
}

TEST_P(AttentionGolden, Deberta) { deberta("deberta_code_delta_ij", -1); }
TEST_P(AttentionGolden, DebertaAsInThePaper) { deberta("deberta_paper_delta_ji", 1); }

INSTANTIATE_TEST_SUITE_P(Both, AttentionGolden, testing::Values(DType::kF64, DType::kF32),
                         [](const auto& test) {
                           return test.param == DType::kF64 ? "reference" : "cpu";
                         });

}  // namespace
}  // namespace tapemeasure::test
