// SPDX-License-Identifier: MIT
// Tables that can be worked out by hand or were computed elsewhere: T5's and DeBERTa's buckets,
// ALiBi's slopes, rotary frequencies and vectors.
#include <cmath>

#include "core/config/config.h"
#include "core/host.h"
#include "layers/position/buckets.h"
#include "layers/position/rope_scaling.h"
#include "layers/position/sinusoid.h"
#include "layers/position/slopes.h"
#include "tests/layers/small_model.h"

namespace tapemeasure {
namespace {

/// The first distance of each bucket, looking back.
std::vector<int64_t> firsts(const T5Buckets& bucket, int64_t farthest) {
  std::vector<int64_t> first;
  for (int64_t distance = 0; distance <= farthest; ++distance) {
    if (bucket(-distance) == static_cast<int64_t>(first.size())) first.push_back(distance);
  }
  return first;
}

using List = std::vector<int64_t>;

TEST(T5Buckets, CausalBorders) {
  EXPECT_EQ(firsts({32, 128, true}, 1000),
            (List{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                  16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113}));
  EXPECT_EQ(firsts({8, 16, true}, 100), (List{0, 1, 2, 3, 4, 6, 8, 12}));
  EXPECT_EQ(firsts({8, 32, true}, 100), (List{0, 1, 2, 3, 4, 7, 12, 20}));
  EXPECT_EQ(firsts({16, 32, true}, 100),
            (List{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 23, 27}));
  EXPECT_EQ(firsts({16, 64, true}, 100),
            (List{0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 14, 18, 23, 30, 39, 50}));
  EXPECT_EQ(firsts({32, 64, true}, 100),
            (List{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                  16, 18, 20, 21, 23, 25, 27, 30, 32, 35, 39, 42, 46, 50, 54, 59}));
  EXPECT_EQ(firsts({32, 256, true}, 1000),
            (List{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,  12,  13,  14,  15,
                  16, 20, 23, 27, 32, 39, 46, 54, 64, 77, 91, 108, 128, 153, 182, 216}));
}

TEST(T5Buckets, BothWays) {
  EXPECT_EQ(firsts({32, 128, false}, 1000),
            (List{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91}));
  EXPECT_EQ(firsts({8, 16, false}, 100), (List{0, 1, 2, 6}));
  EXPECT_EQ(firsts({8, 32, false}, 100), (List{0, 1, 2, 8}));
  EXPECT_EQ(firsts({16, 64, false}, 100), (List{0, 1, 2, 3, 4, 8, 16, 32}));
  EXPECT_EQ(firsts({32, 256, false}, 1000),
            (List{0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 20, 30, 46, 70, 108, 166}));
  const T5Buckets bucket(32, 128, false);
  for (int64_t distance = 1; distance < 300; ++distance) {
    EXPECT_EQ(bucket(distance), bucket(-distance) + 16) << distance;
  }
}

// Ties in real numbers that the logarithm of one library or another rounds down.
TEST(T5Buckets, TiesAreExact) {
  EXPECT_EQ(T5Buckets(32, 128, false)(-64), 14);
  EXPECT_EQ(T5Buckets(32, 256, true)(-128), 28);
  EXPECT_EQ(T5Buckets(16, 128, true)(-64), 14);
  EXPECT_EQ(T5Buckets(16, 64, false)(-32), 7);
  EXPECT_EQ(T5Buckets(32, 256, true)(-64), 24);
  EXPECT_EQ(T5Buckets(16, 64, false)(-8), 5);
  EXPECT_EQ(T5Buckets(128, 100, true)(-80), 96);
}

TEST(T5Buckets, FutureKeysOfACausalTableAreBucketZero) {
  EXPECT_EQ(T5Buckets(32, 128, true)(5), 0);
  EXPECT_EQ(T5Buckets(32, 128, true)(-1000000), 31);
}

TEST(LogBuckets, BordersOfTheReleasedModels) {
  const LogBuckets bucket(256, 512);
  for (const auto& [distance, expected] : {std::pair{131, 131},
                                           {132, 131},
                                           {133, 132},
                                           {135, 133},
                                           {140, 137},
                                           {150, 143},
                                           {160, 149},
                                           {192, 166},
                                           {200, 169},
                                           {256, 192},
                                           {300, 207},
                                           {384, 229},
                                           {400, 233},
                                           {450, 244},
                                           {500, 254},
                                           {505, 254},
                                           {506, 255},
                                           {511, 255}}) {
    EXPECT_EQ(bucket(distance), expected) << distance;
    EXPECT_EQ(bucket(-distance), -expected) << distance;
  }
  EXPECT_EQ(bucket(512), 256);  // the row is clamped: 511 ahead, 0 behind
  for (int64_t distance = -128; distance <= 128; ++distance) EXPECT_EQ(bucket(distance), distance);
}

TEST(LogBuckets, SmallTables) {
  const auto lasts = [](int64_t buckets, int64_t max_distance) {
    const LogBuckets bucket(buckets, max_distance);
    List last(static_cast<size_t>(buckets));
    for (int64_t x = 0; x < max_distance; ++x) last[static_cast<size_t>(bucket(x))] = x;
    return last;
  };
  EXPECT_EQ(lasts(8, 32), (List{0, 1, 2, 3, 4, 7, 15, 31}));
  EXPECT_EQ(lasts(16, 64), (List{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 14, 19, 26, 34, 46, 63}));
  EXPECT_EQ(lasts(32, 128),
            (List{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,  15,
                  16, 18, 21, 24, 27, 31, 36, 42, 48, 55, 63, 73, 83, 96, 110, 127}));
  EXPECT_EQ(LogBuckets(2, 10)(7), 1);
  EXPECT_EQ(LogBuckets(2, 10)(-7), -1);
}

TEST(AlibiSlopes, AnyNumberOfHeads) {
  using Slopes = std::vector<double>;
  EXPECT_EQ(alibi_slopes(1), (Slopes{0.00390625}));
  EXPECT_EQ(alibi_slopes(2), (Slopes{0.0625, 0.00390625}));
  EXPECT_EQ(alibi_slopes(3), (Slopes{0.0625, 0.00390625, 0.25}));
  EXPECT_EQ(alibi_slopes(6), (Slopes{0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125}));
  const Slopes twelve = alibi_slopes(12);
  for (int h = 0; h < 8; ++h) EXPECT_EQ(twelve[h], std::exp2(-(h + 1)));
  for (int h = 0; h < 4; ++h) EXPECT_NEAR(twelve[8 + h], std::exp2(-h - 0.5), 1e-15);
}

TEST(Sinusoid, DistancesOfTransformerXl) {
  const SinusoidTable table{.width = 8, .interleaved = false};
  const std::vector<double> row = table.rows(3, 1, 1);
  const std::vector<double> expected = {.1411200,  .2955202, .0299955, .0030000,
                                        -.9899925, .9553365, .9995500, .9999955};
  EXPECT_LE(difference(row, expected), 6e-8);
}

std::unique_ptr<RopeScaling> scaling(const std::string& kind, const std::string& keys) {
  for (const Kind<RopeScaling>& candidate : rope_scalings()) {
    if (kind != candidate.name) continue;
    auto options = candidate.make();
    Config::parse(keys, "test.yaml").into(*options);
    return options;
  }
  return nullptr;
}

/// Largest relative difference.
double off(const std::vector<double>& ours, const std::vector<double>& theirs) {
  EXPECT_EQ(ours.size(), theirs.size());
  double worst = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    worst = std::max(worst, std::abs(ours[i] / theirs[i] - 1));
  }
  return worst;
}

TEST(RopeScaling, YarnFrequencies) {
  const auto d64 = scaling("yarn", "{factor: 4, original_length: 2048}");
  EXPECT_LE(off(d64->frequencies({64, 10000, 0}, 1), {1,
                                                      0.74989421,
                                                      0.56234133,
                                                      0.4216965,
                                                      0.31622777,
                                                      0.23713737,
                                                      0.17782794,
                                                      0.13335214,
                                                      0.1,
                                                      0.070663108,
                                                      0.049745579,
                                                      0.034871057,
                                                      0.024325213,
                                                      0.016873236,
                                                      0.011627212,
                                                      0.0079498393,
                                                      0.0053846154,
                                                      0.0036052606,
                                                      0.0023791364,
                                                      0.0015408141,
                                                      0.00097300851,
                                                      0.00059284343,
                                                      0.00044456985,
                                                      0.00033338036,
                                                      0.00025,
                                                      0.00018747355,
                                                      0.00014058533,
                                                      0.00010542413,
                                                      7.9056942e-05,
                                                      5.9284343e-05,
                                                      4.4456985e-05,
                                                      3.3338036e-05}),
            1e-7);
  EXPECT_NEAR(d64->attention_factor({64, 10000, 0}), 1.138629436, 1e-9);
  const auto d32 = scaling("yarn", "{factor: 8, original_length: 512}");
  EXPECT_LE(off(d32->frequencies({32, 10000, 0}, 1),
                {1, 0.56234133, 0.2766993, 0.13337096, 0.0625, 0.028117066, 0.011858541,
                 0.0044456985, 0.00125, 0.00070292666, 0.00039528471, 0.00022228493, 0.000125,
                 7.0292666e-05, 3.9528471e-05, 2.2228493e-05}),
            1e-7);
  EXPECT_NEAR(d32->attention_factor({32, 10000, 0}), 1.207944154, 1e-9);
  // The trained length is the model's context where none is given.
  const auto d16 = scaling("yarn", "{factor: 4}");
  EXPECT_LE(off(d16->frequencies({16, 10000, 128}, 1),
                {1, 0.23717082, 0.05, 0.0079056942, 0.0025, 0.00079056942, 0.00025, 7.9056942e-05}),
            1e-7);
  EXPECT_LE(off(d16->frequencies({8, 10000, 64}, 1), {1, 0.0625, 0.0025, 0.00025}), 1e-7);
}

TEST(RopeScaling, ThetaOfNtk) {
  // The last frequency is theta'^(-(n-2)/n): theta' follows from it.
  const auto theta = [](const RopeScaling& scaling, int64_t n, int64_t length) {
    const double last = scaling.frequencies({n, 10000, 0}, length).back();
    return std::pow(last, -double(n) / double(n - 2));
  };
  EXPECT_NEAR(theta(*scaling("ntk", "{factor: 4}"), 64, 1), 41829.365929, 1e-6);
  EXPECT_NEAR(theta(*scaling("ntk", "{factor: 2}"), 128, 1), 20221.261690, 1e-6);
  EXPECT_NEAR(theta(*scaling("ntk", "{factor: 4}"), 16, 1), 48760.546168, 1e-6);
  const auto dynamic = [&](const char* factor, int64_t length) {
    return theta(
        *scaling("dynamic_ntk", std::string("{original_length: 2048, factor: ") + factor + "}"), 64,
        length);
  };
  EXPECT_NEAR(dynamic("1", 4096), 20452.2287, 1e-4);
  EXPECT_NEAR(dynamic("2", 4096), 31082.2367, 1e-4);
  EXPECT_NEAR(dynamic("4", 4096), 52664.4343, 1e-4);
  EXPECT_NEAR(dynamic("2", 2049), 10010.0808, 1e-4);
  EXPECT_NEAR(dynamic("2", 2048), 10000, 1e-8);
}

TEST(RopeScaling, NtkKeepsTheHighestAndDividesTheLowestFrequency) {
  const auto plain = scaling("none", "{}")->frequencies({16, 10000, 0}, 1);
  const auto ntk = scaling("ntk", "{factor: 4}")->frequencies({16, 10000, 0}, 1);
  const auto linear = scaling("linear", "{factor: 4}")->frequencies({16, 10000, 0}, 1);
  EXPECT_EQ(ntk.front(), 1);
  EXPECT_NEAR(ntk.back() / plain.back(), 0.25, 1e-15);
  for (size_t f = 0; f < plain.size(); ++f) EXPECT_EQ(linear[f], plain[f] / 4);
}

TEST(RopeScaling, LongRope) {
  const auto longrope = scaling("longrope",
                                "{original_length: 4096, factor: 32, short_factors: [1, 1, 1, 2], "
                                "long_factors: [1, 1.2, 2.5, 4]}");
  const RopeShape shape{8, 10000, 0};
  EXPECT_LE(off(longrope->frequencies(shape, 4097), {1, 0.1 / 1.2, 0.004, 0.00025}), 1e-12);
  EXPECT_LE(off(longrope->frequencies(shape, 4096), {1, 0.1, 0.01, 0.0005}), 1e-12);
  EXPECT_NEAR(longrope->attention_factor(shape), 1.190238, 5e-7);
  const auto factor = [&](const char* keys) {
    return scaling("longrope", keys)->attention_factor(shape);
  };
  EXPECT_NEAR(factor("{original_length: 4096, factor: 2}"), 1.040833, 5e-7);
  EXPECT_NEAR(factor("{original_length: 128, factor: 4}"), 1.133893, 5e-7);
  EXPECT_NEAR(factor("{original_length: 512, factor: 8}"), 1.154701, 5e-7);
}

TEST(Rope, TurnsAVector) {
  const auto turned = [](const std::string& layout, int64_t position) {
    const ModelOptions options = model_options(
        "{width: 4, heads: 1, vocabulary: 3, position: {kind: rope, layout: " + layout + "}}");
    ParameterStore store;
    const auto backend = make_backend("reference");
    const auto method = options.position.options->build(options, Scope(store));
    const auto layer = method->layer(Scope(store), Projections(options, Scope(store)));
    const Span span{.queries = 1,
                    .keys = position + 1,
                    .first_query = position,
                    .first_key = 0,
                    .causal = true,
                    .backend = backend.get(),
                    .dtype = DType::kF64};
    Backend::Rotation how = *layer->rotation(span);
    how.first_row = position;
    how.rows = how.heads = 1;
    how.width = 4;
    Tape tape(false);
    tapemeasure::Run run(tape);
    const Variable x(to_tensor(*backend, {1, 1, 4}, DType::kF64, std::vector{1.0, 2.0, 3.0, 4.0}));
    return to_doubles(rotate(run, {x, 1, 0}, how).matrix.value());
  };
  const auto expect = [&](const char* layout, int64_t position, const std::vector<double>& y) {
    EXPECT_LE(difference(turned(layout, position), y), 6e-8) << layout << " " << position;
  };
  expect("interleaved", 0, {1, 2, 3, 4});
  expect("interleaved", 1, {-1.1426397, 1.9220756, 2.9598507, 4.0297995});
  expect("interleaved", 5, {2.2015107, -0.3915999, 2.7963341, 4.1449385});
  expect("half", 1, {-1.9841106, 1.9599007, 2.4623779, 4.0197997});
  expect("half", 2, {-3.1440391, 1.9196053, -0.3391431, 4.0391974});
  expect("half", 5, {3.1604350, 1.7975838, -0.1079377, 4.0949594});
}

}  // namespace
}  // namespace tapemeasure
