// SPDX-License-Identifier: MIT
// One table of op cases drives: gradients against central differences in f64 with random output
// weights (a plain sum would hide a wrong softmax gradient), `cpu` against `reference`, gradients
// that add up when an input is used twice, and the rule that every op on a tape has a case.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <regex>
#include <set>

#include "core/host.h"
#include "core/ops.h"

namespace tapemeasure {
namespace {

using Inputs = std::vector<Variable>;

struct OpCase {
  const char* op;       // as it stands on the tape
  const char* variant;  // tells cases of one op apart
  std::vector<Shape> inputs;
  std::function<Variable(Run&, const Inputs&)> apply;
  std::vector<int> constants = {};  // inputs without a gradient
};

double draw(const std::string& what, uint64_t index) {
  return random_normal(random_key(7, Stream::kSampling, 0, hash_text(what)), index);
}

std::vector<double> normals(const std::string& what, int64_t count) {
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = draw(what, i);
  return values;
}

Tensor ids_of(const Variable& like, const Shape& shape, int64_t bound, bool holes = false) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < shape.count(); ++i) {
    const auto word = static_cast<int64_t>(random_below(11, static_cast<uint64_t>(i), bound));
    ids.push_back(holes && i % 4 == 1 ? -1 : static_cast<int32_t>(word));
  }
  return to_tensor(like.value().backend(), shape, ids);
}

Dropout drop(double rate) { return {rate, 0x1234, 5}; }

AttentionTerms plain_terms() {
  AttentionTerms terms;
  terms.scale = 0.6;
  return terms;
}

OffsetMap clipped(const Variable& like, int64_t keys, int64_t queries, int64_t k) {
  std::vector<int32_t> rows;
  const int64_t first = -(keys + queries);
  for (int64_t r = first; r <= keys + queries; ++r) {
    rows.push_back(static_cast<int32_t>(std::clamp(r, -k, k) + k));
  }
  return {to_tensor(like.value().backend(), {int64_t(rows.size())}, rows), first};
}

/// Two heads of 4, of which 2 channels are turned, with a factor on the tables.
Backend::Rotation turn(const Variable& like, int64_t first_row, bool interleaved) {
  std::vector<double> cosine, sine;
  for (int position = 0; position < 5; ++position) {
    cosine.push_back(1.2 * std::cos(0.7 * position));
    sine.push_back(1.2 * std::sin(0.7 * position));
  }
  Backend& backend = like.value().backend();
  Backend::Rotation how;
  how.cosine = to_tensor(backend, {5, 1}, like.value().dtype(), cosine);
  how.sine = to_tensor(backend, {5, 1}, like.value().dtype(), sine);
  how.first_row = first_row;
  how.rows = 3;
  how.interleaved = interleaved;
  how.heads = 2;
  how.width = 4;
  return how;
}

std::vector<OpCase> op_cases() {
  std::vector<OpCase> cases = {
      {"linear",
       "bias",
       {{2, 3, 5}, {4, 5}, {4}},
       [](Run& r, const Inputs& x) { return linear(r, x[0], x[1], x[2]); }},
      {"linear",
       "no bias",
       {{3, 5}, {4, 5}},
       [](Run& r, const Inputs& x) { return linear(r, x[0], x[1]); }},
      {"linear_transposed",
       "",
       {{2, 3, 5}, {5, 4}},
       [](Run& r, const Inputs& x) { return linear_transposed(r, x[0], x[1]); }},
      {"add", "", {{2, 3}, {2, 3}}, [](Run& r, const Inputs& x) { return add(r, x[0], x[1]); }},
      {"add",
       "twice the same",
       {{2, 3}},
       [](Run& r, const Inputs& x) { return add(r, x[0], x[0]); }},
      {"scale", "", {{2, 3}}, [](Run& r, const Inputs& x) { return scale(r, x[0], -1.7); }},
      {"dropout",
       "",
       {{3, 4, 5}},
       [](Run& r, const Inputs& x) { return dropout(r, x[0], drop(0.4)); }},
      {"residual",
       "no dropout",
       {{3, 4, 5}, {3, 4, 5}},
       [](Run& r, const Inputs& x) { return residual(r, x[0], x[1], {}); }},
      {"residual",
       "dropout",
       {{3, 4, 5}, {3, 4, 5}},
       [](Run& r, const Inputs& x) { return residual(r, x[0], x[1], drop(0.3)); }},
      {"normalize",
       "layernorm",
       {{2, 3, 7}, {7}, {7}},
       [](Run& r, const Inputs& x) {
         return normalize(r, Norm::kLayerNorm, 1e-5, x[0], x[1], x[2]);
       }},
      {"normalize",
       "rmsnorm",
       {{2, 3, 7}, {7}},
       [](Run& r, const Inputs& x) { return normalize(r, Norm::kRmsNorm, 1e-5, x[0], x[1], {}); }},
      {"embedding",
       "",
       {{6, 4}},
       [](Run& r, const Inputs& x) {
         return embedding(r, x[0], ids_of(x[0], {3, 5}, 6), 1.3);
       }},
      {"rows", "", {{6, 4}}, [](Run& r, const Inputs& x) { return rows(r, x[0], 2, 3); }},
      {"rows",
       "of a vector, twice",
       {{6}},
       [](Run& r, const Inputs& x) { return add(r, rows(r, x[0], 0, 4), rows(r, x[0], 2, 4)); }},
      {"scatter_rows",
       "",
       {{1, 3, 4}, {2, 4}},
       [](Run& r, const Inputs& x) {
         Backend& backend = x[0].value().backend();
         const Tensor ids[] = {to_tensor(backend, {1, 3}, std::vector<int32_t>{5, 0, 2}),
                               to_tensor(backend, {1, 2}, std::vector<int32_t>{3, 2})};
         return scatter_rows(r, x, ids, 7);
       }},
      {"recomputed",
       "with dropout, an input twice, another not at all",
       {{3, 4}, {3, 4}, {4, 4}},
       [](Run& r, const Inputs& x) {
         return recomputed(r, x, [](Run& again, std::span<const Variable> in) {
           const Variable y = linear(again, dropout(again, in[0], again.dropout(0.3, 5)), in[2]);
           return residual(again, in[0], y, again.dropout(0.2, 5));
         });
       }},
      {"add_rows",
       "",
       {{2, 3, 4}, {6, 4}},
       [](Run& r, const Inputs& x) { return add_rows(r, x[0], x[1], 2, 0.7); }},
      {"concat_rows",
       "",
       {{2, 3, 4}, {2, 2, 4}},
       [](Run& r, const Inputs& x) { return concat_rows(r, x[0], x[1]); }},
      {"rotate",
       "halves, whole matrix",
       {{2, 3, 8}},
       [](Run& r, const Inputs& x) {
         return rotate(r, {x[0], 3, 0}, turn(x[0], 1, false)).matrix;
       }},
      {"rotate",
       "interleaved, some rows and columns",
       {{2, 4, 13}},
       [](Run& r, const Inputs& x) {
         return rotate(r, {x[0], 4, 3}, turn(x[0], 0, true)).matrix;
       }},
      {"cross_entropy",
       "one chunk",
       {{2, 5, 4}, {7, 4}, {7}},
       [](Run& r, const Inputs& x) {
         return cross_entropy(r, x[0], x[1], x[2], ids_of(x[0], {2, 5}, 7, true),
                              {.factor = 0.3, .head_scale = 1.4, .smoothing = 0.1})
             .loss;
       }},
      // R109.
      {"cross_entropy",
       "chunks",
       {{2, 5, 4}, {7, 4}},
       [](Run& r, const Inputs& x) {
         return cross_entropy(r, x[0], x[1], {}, ids_of(x[0], {2, 5}, 7, true),
                              {.factor = 0.3, .chunk_bytes = 3 * 7 * 8})
             .loss;
       }},
      {"attention",
       "packed",
       {{2, 5, 18}},
       [](Run& r, const Inputs& x) {
         const AttentionShape shape{2, 2, 3, 5, 5, 0, 0};
         return attention(r, shape, {x[0], 5, 0}, {x[0], 5, 6}, {x[0], 5, 12}, {}, plain_terms(),
                          drop(0.2));
       }},
      {"attention",
       "packed keys and values, spare columns",
       {{2, 3, 6}, {2, 5, 14}},
       [](Run& r, const Inputs& x) {
         const AttentionShape shape{2, 2, 3, 3, 5, 2, 0};
         return attention(r, shape, {x[0], 3, 0}, {x[1], 5, 1}, {x[1], 5, 8}, {}, plain_terms());
       }},
      {"attention",
       "all terms",
       {{2, 3, 6}, {2, 5, 6}, {2, 5, 6}, {2, 3}, {2, 3}, {5, 3}, {2, 5, 3}, {5, 6}, {2, 5}},
       [](Run& r, const Inputs& x) {
         AttentionTerms t = plain_terms();
         const OffsetMap map = clipped(x[0], 5, 3, 2);
         t.content_bias = x[3];
         t.position_bias = x[4];
         t.query_table = {x[5], TableLayout::kShared, map};
         t.key_table = {x[6], TableLayout::kPerHead, map};
         t.value_table = {x[7], TableLayout::kProjected, map};
         t.bias = x[8];
         t.bias_map = map;
         const AttentionShape shape{2, 2, 3, 3, 5, 2, 0};
         return attention(r, shape, {x[0], 3, 0}, {x[1], 5, 0}, {x[2], 5, 0}, {}, t);
       }},
  };
  constexpr const char* kNames[] = {"relu", "gelu", "gelu_tanh", "silu"};
  for (int kind = 0; kind < 4; ++kind) {
    const auto activation_kind = static_cast<Activation>(kind);
    cases.push_back({"activation", kNames[kind], {{3, 5}}, [=](Run& r, const Inputs& x) {
                       return activation(r, activation_kind, x[0]);
                     }});
    cases.push_back({"gated", kNames[kind], {{3, 5}, {3, 5}}, [=](Run& r, const Inputs& x) {
                       return gated(r, activation_kind, x[0], x[1]);
                     }});
  }
  return cases;
}

struct Evaluated {
  std::vector<double> output;
  std::vector<std::vector<double>> gradients;
  std::set<std::string> names;
};

/// Runs a case on `values`; gradients are those of sum(output * random weights).
Evaluated evaluate(const OpCase& op, Backend& backend, DType dtype,
                   const std::vector<std::vector<double>>& values, bool backward) {
  Tape tape(backward);
  Run run(tape, true);
  Inputs inputs;
  for (size_t i = 0; i < values.size(); ++i) {
    inputs.push_back(tape.input(to_tensor(backend, op.inputs[i], dtype, values[i])));
  }
  const Variable y = op.apply(run, inputs);
  Evaluated result;
  result.output = to_doubles(y.value());
  if (!backward) return result;
  const int64_t count = y.value().count();
  const Variable weights(to_tensor(backend, {1, count}, dtype, normals("weights", count)));
  const Variable loss = linear(run, y.reshaped({1, count}), weights);
  for (const std::string& name : tape.names()) result.names.insert(name);
  tape.backward(loss);
  for (const Variable& input : inputs) result.gradients.push_back(to_doubles(tape.gradient(input)));
  return result;
}

std::vector<std::vector<double>> start(const OpCase& op) {
  std::vector<std::vector<double>> values;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    values.push_back(normals("input " + std::to_string(i), op.inputs[i].count()));
  }
  return values;
}

double weighted(const std::vector<double>& output) {
  double sum = 0;
  for (size_t i = 0; i < output.size(); ++i) sum += output[i] * draw("weights", i);
  return sum;
}

double largest(const std::vector<double>& values) {
  double top = 0;
  for (const double value : values) top = std::max(top, std::abs(value));
  return top;
}

class Ops : public testing::TestWithParam<OpCase> {};

TEST_P(Ops, GradientIsTheFiniteDifference) {
  const OpCase& op = GetParam();
  const auto backend = make_backend("reference");
  auto values = start(op);
  const Evaluated analytic = evaluate(op, *backend, DType::kF64, values, true);
  for (size_t i = 0; i < values.size(); ++i) {
    const double scale = std::max(largest(analytic.gradients[i]), 1e-3);
    for (size_t e = 0; e < values[i].size(); ++e) {
      const double x = values[i][e], h = 1e-5;
      const auto at = [&](double value) {
        values[i][e] = value;
        return weighted(evaluate(op, *backend, DType::kF64, values, false).output);
      };
      // Fourth-order central difference.
      const double slope =
          (8 * (at(x + h) - at(x - h)) - (at(x + 2 * h) - at(x - 2 * h))) / (12 * h);
      values[i][e] = x;
      ASSERT_NEAR(analytic.gradients[i][e], slope, 1e-7 * scale)
          << op.op << " input " << i << " element " << e;
    }
  }
}

TEST_P(Ops, CpuAgreesWithReference) {
  const OpCase& op = GetParam();
  const auto reference = make_backend("reference");
  const auto cpu = make_backend("cpu");
  const auto values = start(op);
  const Evaluated right = evaluate(op, *reference, DType::kF64, values, true);
  const Evaluated ours = evaluate(op, *cpu, DType::kF32, values, true);
  const auto compare = [&](const std::vector<double>& a, const std::vector<double>& b) {
    const double bound = 1e-5 * std::max(largest(b), 1e-2);
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], bound) << op.op << " " << i;
  };
  compare(ours.output, right.output);
  for (size_t i = 0; i < values.size(); ++i) compare(ours.gradients[i], right.gradients[i]);
}

INSTANTIATE_TEST_SUITE_P(All, Ops, testing::ValuesIn(op_cases()), [](const auto& info) {
  return std::regex_replace(std::string(info.param.op) + "_" + info.param.variant,
                            std::regex("[^A-Za-z0-9]+"), "_");
});

TEST(OpCases, CoverEveryRecordedName) {
  std::set<std::string> covered;
  for (const OpCase& op : op_cases()) covered.insert(op.op);
  // All names that core/ops hands to Tape::record, read from the sources.
  const std::regex record("record\\(\\s*\"([a-z_]+)\"");
  for (const char* file : {"linear", "elementwise", "normalize", "tables", "cross_entropy",
                           "attention", "concat", "rotate", "recompute"}) {
    std::ifstream in(std::string(TAPEMEASURE_SOURCE_DIR) + "/core/ops/" + file + ".cpp");
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    ASSERT_FALSE(text.empty()) << file;
    for (std::sregex_iterator it(text.begin(), text.end(), record), end; it != end; ++it) {
      EXPECT_TRUE(covered.count((*it)[1])) << (*it)[1] << " has no case in op_cases()";
    }
  }
}

TEST(Tape, AnInputUsedTwiceSumsItsGradients) {
  const auto backend = make_backend("reference");
  Tape tape;
  tapemeasure::Run run(tape);
  const Variable x = tape.input(to_tensor(*backend, {1, 2}, DType::kF64, std::vector{2.0, 3.0}));
  const Variable doubled = scale(run, x, 2);
  // The residual passes its gradient on unchanged to x, which is then added to.
  const Variable y = residual(run, x, doubled, {});
  const Variable weights(to_tensor(*backend, {1, 2}, DType::kF64, std::vector{5.0, 7.0}));
  tape.backward(linear(run, y, weights));
  EXPECT_EQ(to_doubles(tape.gradient(x)), (std::vector{15.0, 21.0}));
}

// R108.
TEST(Tape, AnOpWithoutGradientSaysSo) {
  const auto backend = make_backend("reference");
  Tape tape;
  tapemeasure::Run run(tape);
  const Variable x = tape.input(to_tensor(*backend, {1, 1}, DType::kF64, std::vector{2.0}));
  const Variable y = tape.record("argmax", x.value(), {x}, nullptr);
  try {
    tape.backward(y);
    FAIL() << "backward went through";
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "argmax has no gradient");
  }
}

TEST(Tape, WithoutRecordingNothingIsKept) {
  const auto backend = make_backend("reference");
  Tape tape(false);
  tapemeasure::Run run(tape);
  const Variable x = tape.input(to_tensor(*backend, {1, 1}, DType::kF64, std::vector{2.0}));
  EXPECT_FALSE(scale(run, x, 2).tracked());
  EXPECT_TRUE(tape.names().empty());
}

}  // namespace
}  // namespace tapemeasure
