// SPDX-License-Identifier: MIT
// One attention layer with a method: Transformer-XL against its authors' shifted form, sums that
// must vanish, rows that no pair reaches, positions that only count relative to each other.
#include "layers/attention.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/host.h"
#include "layers/position/sinusoid.h"
#include "tests/layers/small_model.h"

namespace tapemeasure {
namespace {

constexpr int64_t kWidth = 8, kHeads = 2, kHeadWidth = 4;

std::vector<double> normals(const std::string& what, int64_t count) {
  std::vector<double> values;
  const uint64_t key = random_key(4, Stream::kSampling, 0, hash_text(what));
  for (int64_t i = 0; i < count; ++i) values.push_back(random_normal(key, i));
  return values;
}

/// An attention layer with random parameters, in f64 on the reference.
struct OneLayer {
  explicit OneLayer(const ModelOptions& options)
      : backend(make_backend("reference")),
        method(options.position.options->build(options, Scope(store) / "position")),
        attention(options, *method, Scope(store)) {
    store.allocate(*backend, DType::kF64, 1);
    for (const Parameter& parameter : store.all()) {
      const auto values = normals(parameter.name, parameter.shape.count());
      std::copy(values.begin(), values.end(), parameter.value.data<double>());
    }
  }

  Tensor rows(const std::string& what, int64_t count) const {
    return to_tensor(*backend, {1, count, kWidth}, DType::kF64, normals(what, count * kWidth));
  }
  /// Runs it; gradients of a random weighting of the output reach the parameters.
  std::vector<double> operator()(const Tensor& x, const Tensor& memory, const AttentionMask& mask) {
    Tape tape;
    Run run(tape, true);
    Source source{.mask = mask};
    if (memory.defined()) source.rows_BSD = concat_rows(run, Variable(memory), Variable(x));
    const Variable y = attention(run, Variable(x), source);
    const int64_t count = y.value().count();
    const Tensor weights = to_tensor(*backend, {1, count}, DType::kF64, normals("weights", count));
    store.clear_gradients();
    tape.backward(linear(run, y.reshaped({1, count}), Variable(weights)));
    store.complete_gradients();
    return to_doubles(y.value());
  }
  std::vector<double> value(const std::string& name) { return to_doubles(store.find(name)->value); }
  std::vector<double> gradient(const std::string& name) {
    return to_doubles(store.find(name)->gradient);
  }

  std::unique_ptr<Backend> backend;
  ParameterStore store;
  std::unique_ptr<PositionMethod> method;
  AttentionLayer attention;
};

ModelOptions options_of(const std::string& position, const std::string& more = "") {
  return model_options("{width: 8, heads: 2, context: 16, vocabulary: 3, position: " + position +
                       more + "}");
}

AttentionMask full() {
  AttentionMask mask;
  mask.causal = false;
  return mask;
}

using Matrix = std::vector<std::vector<double>>;

/// x [rows, in] W^T for rows of W [first_row, first_row + out).
Matrix times(const Matrix& x, const std::vector<double>& weight, int64_t first_row, int64_t out) {
  Matrix y(x.size(), std::vector<double>(static_cast<size_t>(out), 0));
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t in = x[i].size();
    for (int64_t o = 0; o < out; ++o) {
      for (size_t c = 0; c < in; ++c) y[i][o] += x[i][c] * weight[(first_row + o) * in + c];
    }
  }
  return y;
}

Matrix matrix_of(const std::vector<double>& values, size_t columns) {
  Matrix rows;
  for (size_t i = 0; i < values.size(); i += columns) {
    rows.emplace_back(values.begin() + i, values.begin() + i + columns);
  }
  return rows;
}

/// The authors' relative shift: a zero column in front, [T, S + 1] seen as [S + 1, T], the first
/// row dropped, the rest seen as [T, S]. What it leaves above the diagonal is garbage.
Matrix relative_shift(const Matrix& x) {
  const size_t T = x.size(), S = x[0].size();
  std::vector<double> flat;
  for (const auto& row : x) {
    flat.push_back(0);
    flat.insert(flat.end(), row.begin(), row.end());
  }
  flat.erase(flat.begin(), flat.begin() + static_cast<int64_t>(T));
  return matrix_of(flat, S);
}

/// One head of the formula, literally: [T, d].
Matrix shifted_head(OneLayer& layer, int64_t head, const Matrix& queries, const Matrix& source) {
  const auto T = static_cast<int64_t>(queries.size()), S = static_cast<int64_t>(source.size());
  const int64_t row = head * kHeadWidth;
  const auto project = [&](const Matrix& x, const char* name) {
    return times(x, layer.value(name), row, kHeadWidth);
  };
  // Column c of the product is distance S - 1 - c.
  const SinusoidTable sinusoid{.width = kWidth, .interleaved = false};
  const Matrix r =
      project(matrix_of(sinusoid.rows(S - 1, -1, S), kWidth), "position.relative.weight");
  const Matrix q = project(queries, "query.weight"), k = project(source, "key.weight");
  const Matrix v = project(source, "value.weight");
  const auto dot = [&](int64_t i, const char* bias, const std::vector<double>& y) {
    const std::vector<double> b = layer.value(bias);
    double sum = 0;
    for (int64_t e = 0; e < kHeadWidth; ++e) sum += (q[i][e] + b[row + e]) * y[e];
    return sum;
  };
  Matrix position(T, std::vector<double>(S)), mixed(T, std::vector<double>(kHeadWidth, 0));
  for (int64_t i = 0; i < T; ++i) {
    for (int64_t c = 0; c < S; ++c) position[i][c] = dot(i, "position.position_bias", r[c]);
  }
  position = relative_shift(position);
  for (int64_t i = 0; i < T; ++i) {
    double sum = 0;
    for (int64_t j = 0; j <= i + S - T; ++j) {
      const double logit = dot(i, "position.content_bias", k[j]) + position[i][j];
      const double weight = std::exp(logit / 2);
      sum += weight;
      for (int64_t e = 0; e < kHeadWidth; ++e) mixed[i][e] += weight * v[j][e];
    }
    for (double& x : mixed[i]) x /= sum;
  }
  return mixed;
}

TEST(TransformerXl, EqualsTheShiftedForm) {
  OneLayer layer(options_of("{kind: transformer_xl}", ", bias: false"));
  for (const auto& [T, M] : {std::pair<int64_t, int64_t>{4, 3}, {1, 6}, {5, 0}, {3, 11}}) {
    const Tensor x = layer.rows("x", T);
    const Tensor memory = M > 0 ? layer.rows("memory", M) : Tensor();
    const std::vector<double> ours = layer(x, memory, {});
    const Matrix queries = matrix_of(to_doubles(x), kWidth);
    Matrix source = M > 0 ? matrix_of(to_doubles(memory), kWidth) : Matrix();
    source.insert(source.end(), queries.begin(), queries.end());
    Matrix mixed = shifted_head(layer, 0, queries, source);
    const Matrix second = shifted_head(layer, 1, queries, source);
    for (size_t i = 0; i < mixed.size(); ++i) {
      mixed[i].insert(mixed[i].end(), second[i].begin(), second[i].end());
    }
    std::vector<double> theirs;
    for (const auto& row : times(mixed, layer.value("output.weight"), 0, kWidth)) {
      theirs.insert(theirs.end(), row.begin(), row.end());
    }
    EXPECT_LE(difference(ours, theirs), 1e-12 * largest(theirs)) << T << " after " << M;
  }
}

/// Sums of the columns of values [rows, columns].
std::vector<double> column_sums(const std::vector<double>& values, size_t columns) {
  std::vector<double> sums(columns, 0);
  for (size_t i = 0; i < values.size(); ++i) sums[i % columns] += values[i];
  return sums;
}

TEST(Invariants, T5BucketsOfAHeadSumToZero) {
  OneLayer layer(options_of("{kind: t5, buckets: 8, max_distance: 16}"));
  for (const AttentionMask& mask : {AttentionMask(), full()}) {
    layer(layer.rows("x", 11), layer.rows("memory", 6), mask);
    const auto gradient = layer.gradient("position.bias");
    EXPECT_GT(largest(gradient), 0.1);
    EXPECT_LE(largest(column_sums(gradient, kHeads)), 1e-14 * largest(gradient));
    // Looking both ways, distance 0 is a past one: half of the buckets is never anyone's.
    if (mask.causal) continue;
    EXPECT_EQ(gradient[4 * kHeads], 0);
    EXPECT_EQ(gradient[4 * kHeads + 1], 0);
    EXPECT_NE(gradient[5 * kHeads], 0);
  }
}

TEST(Invariants, ShawKeysSumToZeroAndValuesToTheValueBias) {
  OneLayer layer(options_of("{kind: shaw, max_distance: 3}"));
  layer(layer.rows("x", 9), layer.rows("memory", 2), {});
  const auto keys = layer.gradient("position.key_table");
  const auto values = layer.gradient("position.value_table");
  EXPECT_LE(largest(column_sums(keys, kHeadWidth)), 1e-13 * largest(keys));
  // Rows of probabilities sum to 1, so each value vector of a row may as well be the bias.
  const auto biases = column_sums(layer.gradient("value.bias"), kHeadWidth);
  EXPECT_LE(difference(column_sums(values, kHeadWidth), biases), 1e-13 * largest(values));
  // Rows of keys ahead, 4 to 6, are nobody's under a causal mask.
  for (size_t i = 4 * kHeadWidth; i < keys.size(); ++i) {
    EXPECT_EQ(keys[i], 0);
    EXPECT_EQ(values[i], 0);
  }
  EXPECT_NE(keys[3 * kHeadWidth], 0);
}

TEST(Invariants, KeyBiases) {
  const auto key_bias = [](const std::string& position) {
    OneLayer layer(options_of(position));
    layer(layer.rows("x", 9), Tensor(), {});
    return largest(layer.gradient("key.bias")) / largest(layer.gradient("query.bias"));
  };
  for (const char* dead :
       {"{kind: none}", "{kind: shaw}", "{kind: t5}", "{kind: alibi}", "{kind: transformer_xl}",
        "{kind: deberta, position_to_content: false}"}) {
    EXPECT_LE(key_bias(dead), 1e-13) << dead;
  }
  for (const char* alive : {"{kind: rope}", "{kind: deberta}"}) {
    EXPECT_GE(key_bias(alive), 1e-2) << alive;
  }
}

TEST(Invariants, DebertaProjectionBiasesAndRows) {
  OneLayer layer(options_of("{kind: deberta, max_distance: 3}"));
  layer(layer.rows("x", 9), Tensor(), full());
  const double size = largest(layer.gradient("position.query.bias"));
  EXPECT_GT(size, 0.01);
  EXPECT_LE(largest(layer.gradient("position.key.bias")), 1e-13 * size);
  OneLayer clamped(
      options_of("{kind: deberta, max_distance: 6, buckets: 4, clamp_distance: true}"));
  clamped(clamped.rows("x", 20), Tensor(), full());
  const auto table = clamped.gradient("position.table");
  for (int64_t c = 0; c < kWidth; ++c) EXPECT_EQ(table[c], 0) << "row 0 is never read";
  EXPECT_NE(table[kWidth], 0);
}

class EveryRelative : public testing::TestWithParam<Method> {};
std::vector<Method> relative() {
  std::vector<Method> some;
  for (const Method& method : methods()) {
    // Scalings that depend on the length tell padded sequences from others.
    const std::string name = method.name;
    if (method.relative && name != "rope_dynamic_ntk" && name != "rope_longrope") {
      some.push_back(method);
    }
  }
  return some;
}
INSTANTIATE_TEST_SUITE_P(Methods, EveryRelative, testing::ValuesIn(relative()), test_name);

// Padding before a sequence moves all its positions: nothing else may change.
TEST_P(EveryRelative, PaddingOnTheLeftChangesNothing) {
  for (const AttentionMask& plain : {AttentionMask(), full()}) {
    OneLayer layer(options_of(GetParam().position));
    const Tensor x = layer.rows("x", 7), padding = layer.rows("padding", 5);
    const auto alone = layer(x, Tensor(), plain);
    AttentionMask mask = plain;
    const std::vector<int32_t> begin = {5};
    mask.key_begin = to_tensor(*layer.backend, {1}, begin);
    EXPECT_LE(difference(layer(x, padding, mask), alone), 1e-12 * largest(alone));
  }
}

using Results = std::map<std::string, std::vector<double>>;

/// Output and all gradients of T queries after M earlier rows, for two sequences.
Results results(const ModelOptions& options, const char* place, DType dtype, int64_t T, int64_t M) {
  const auto backend = make_backend(place);
  ParameterStore store;
  const auto method = options.position.options->build(options, Scope(store) / "position");
  const AttentionLayer attention(options, *method, Scope(store));
  store.allocate(*backend, dtype, 1);
  for (const Parameter& parameter : store.all()) {
    const auto values = normals(parameter.name, parameter.shape.count());
    backend->scale(0.5, to_tensor(*backend, parameter.shape, dtype, values), parameter.value);
  }
  const auto rows = [&](const char* what, int64_t count) {
    const int64_t size = 2 * count * options.width;
    return to_tensor(*backend, {2, count, options.width}, dtype, normals(what, size));
  };
  Tape tape;
  tapemeasure::Run run(tape, true);
  const Variable x = tape.input(rows("x", T));
  Source source;
  if (M > 0) source.rows_BSD = concat_rows(run, Variable(rows("memory", M)), x);
  const Variable y = attention(run, x, source);
  const int64_t count = y.value().count();
  Results found = {{"y", to_doubles(y.value())}};
  const Variable weights(to_tensor(*backend, {1, count}, dtype, normals("weights", count)));
  tape.backward(linear(run, y.reshaped({1, count}), weights));
  store.complete_gradients();
  found["x"] = to_doubles(tape.gradient(x));
  for (const Parameter& parameter : store.all()) {
    found[parameter.name] = to_doubles(parameter.gradient);
  }
  return found;
}

// R107: one head, an odd width where the method allows it, one query, more memory than queries,
// strips that are not full.
TEST_P(EveryRelative, AwkwardShapesOnCpu) {
  const bool turns = std::string(GetParam().name).starts_with("rope");
  const std::string shape = turns ? "width: 8, heads: 2" : "width: 5, heads: 1";
  const ModelOptions options = model_options(
      "{" + shape + ", context: 8, vocabulary: 3, position: " + GetParam().position + "}");
  for (const auto& [T, M] : {std::pair<int64_t, int64_t>{1, 0}, {1, 70}, {67, 3}, {5, 131}}) {
    const Results right = results(options, "reference", DType::kF64, T, M);
    const Results ours = results(options, "cpu", DType::kF32, T, M);
    double top = 0;
    for (const auto& [name, values] : right) top = std::max(top, largest(values));
    for (const auto& [name, values] : right) {
      const double size = std::max(largest(values), 0.1 * top);
      const double bound = name == "y" ? 2e-5 : 2e-4;
      EXPECT_LE(difference(ours.at(name), values), bound * size) << name << ", " << T << "+" << M;
    }
  }
}

}  // namespace
}  // namespace tapemeasure
