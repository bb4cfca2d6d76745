// SPDX-License-Identifier: MIT
// The CPU's fused attention against the reference, and what must hold to the bit.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>

#include "attention_cases.h"

namespace tapemeasure::test {

namespace {

constexpr TableLayout kShared = TableLayout::kShared, kPerHead = TableLayout::kPerHead,
                      kProjected = TableLayout::kProjected;

std::vector<Named> run_cpu(const AttentionCase& given, int threads = 2) {
  const auto backend = make_backend("cpu", threads);
  return AttentionProblem(*backend, DType::kF32, given).run();
}

std::vector<Named> run_reference(const AttentionCase& given) {
  const auto backend = make_backend("reference");
  return AttentionProblem(*backend, DType::kF64, given).run();
}

void expect_close(const Named& actual, const Named& expected) {
  ASSERT_EQ(actual.first, expected.first);
  ASSERT_EQ(actual.second.size(), expected.second.size());
  double largest = 0, error = 0;
  for (size_t n = 0; n < expected.second.size(); ++n) {
    const double a = actual.second[n], e = expected.second[n];
    if (std::isinf(e)) {
      EXPECT_EQ(a, e) << actual.first << " " << n;
      continue;
    }
    largest = std::max(largest, std::abs(e));
    const double off = std::abs(a - e);
    error = off <= error ? error : off;  // a NaN is kept
  }
  // Gradients that cancel to nothing keep the rounding of their parts, which are about 1.
  EXPECT_LE(error, 2e-5 * std::max(largest, 0.5)) << actual.first << ", largest " << largest;
}

class AttentionParity : public testing::TestWithParam<AttentionCase> {};

TEST_P(AttentionParity, EqualsTheReference) {
  const auto expected = run_reference(GetParam());
  const auto actual = run_cpu(GetParam());
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t n = 0; n < expected.size(); ++n) expect_close(actual[n], expected[n]);
}

std::vector<int32_t> halves(int64_t batch, int64_t keys) {
  std::vector<int32_t> documents;
  for (int64_t n = 0; n < batch * keys; ++n) {
    documents.push_back(n % keys < keys / 3 ? 4 : n % keys < keys / 2 ? 9 : 2);
  }
  return documents;
}

// Shapes: sequences, heads, width, queries, keys, first query, first key.
const AttentionCase kCases[] = {
    {.name = "plain", .shape = {2, 2, 16, 100, 100, 0, 0}, .terms = ""},
    {.name = "full", .shape = {2, 2, 8, 70, 70, 0, 0}, .terms = "", .causal = false},
    {.name = "one", .shape = {1, 1, 1, 1, 1, 0, 0}, .terms = "uvqkeb"},
    {.name = "width_one", .shape = {2, 3, 1, 70, 70, 0, 0}, .terms = "uvqkeb", .layout = kPerHead},
    {.name = "width_five",
     .shape = {1, 3, 5, 67, 67, 0, 0},
     .terms = "uvqkeb",
     .layout = kProjected},
    {.name = "decode", .shape = {2, 2, 16, 1, 90, 89, 0}, .terms = "uvqkeb"},
    {.name = "decode_three",
     .shape = {2, 2, 16, 3, 90, 87, 0},
     .terms = "uvqkeb",
     .map = MapKind::kDistance},
    {.name = "strip_63",
     .shape = {1, 2, 8, 63, 63, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kDistance},
    {.name = "strip_64",
     .shape = {1, 2, 8, 64, 64, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kDeberta,
     .size = 16},
    {.name = "strip_65",
     .shape = {1, 2, 8, 65, 65, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kAscending},
    {.name = "strip_127",
     .shape = {1, 2, 8, 127, 127, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kClipped,
     .size = 16},
    {.name = "strip_128",
     .shape = {1, 2, 8, 128, 128, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kBuckets,
     .size = 20},
    {.name = "strip_129",
     .shape = {1, 1, 8, 129, 129, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kScattered,
     .size = 20},
    {.name = "strip_200",
     .shape = {2, 1, 8, 200, 200, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kDeberta,
     .size = 70},
    {.name = "full_200",
     .shape = {1, 2, 8, 200, 200, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kClipped,
     .size = 5,
     .causal = false},
    {.name = "full_distance",
     .shape = {1, 2, 8, 130, 130, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kDistance,
     .causal = false},
    {.name = "full_deberta",
     .shape = {1, 2, 8, 330, 330, 0, 0},
     .terms = "qk",
     .map = MapKind::kDeberta,
     .size = 40,
     .causal = false},
    {.name = "full_buckets",
     .shape = {1, 2, 8, 150, 150, 0, 0},
     .terms = "kb",
     .map = MapKind::kBuckets,
     .size = 12,
     .causal = false},
    {.name = "constant_map",
     .shape = {1, 2, 8, 140, 140, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kClipped,
     .size = 0,
     .causal = false},
    {.name = "causal_constant",
     .shape = {1, 2, 8, 140, 140, 0, 0},
     .terms = "qke",
     .map = MapKind::kClipped,
     .size = 0},
    {.name = "clip_beyond_keys",
     .shape = {1, 2, 8, 20, 20, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kClipped,
     .size = 50},
    {.name = "memory",
     .shape = {2, 2, 8, 40, 100, 60, 0},
     .terms = "uvqkeb",
     .map = MapKind::kDistance},
    {.name = "memory_over_queries",
     .shape = {1, 2, 8, 70, 300, 235, 5},
     .terms = "uvqkeb",
     .map = MapKind::kClipped,
     .size = 16},
    {.name = "keys_in_the_future",
     .shape = {1, 2, 8, 30, 40, 5, 20},
     .terms = "uvqkeb",
     .map = MapKind::kClipped,
     .size = 4},
    {.name = "nothing_visible",
     .shape = {1, 2, 8, 10, 10, 0, 50},
     .terms = "uvqkeb",
     .map = MapKind::kClipped,
     .size = 4},
    {.name = "cross", .shape = {2, 2, 8, 66, 90, 0, 0}, .terms = "", .causal = false},
    {.name = "window_one",
     .shape = {1, 2, 8, 130, 130, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kDistance,
     .window = 1},
    {.name = "window",
     .shape = {1, 2, 8, 200, 200, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kClipped,
     .size = 90,
     .window = 70},
    {.name = "window_full",
     .shape = {1, 2, 8, 200, 200, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kDistance,
     .causal = false,
     .window = 33},
    {.name = "window_over_keys",
     .shape = {1, 2, 8, 70, 70, 0, 0},
     .terms = "uvqkeb",
     .window = 1000},
    {.name = "key_ranges",
     .shape = {4, 2, 8, 80, 80, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kDistance,
     .causal = false,
     .key_begin = {0, 10, 70, 5},
     .key_end = {80, 75, 70, 6}},
    {.name = "key_begin",
     .shape = {2, 2, 8, 140, 140, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kClipped,
     .key_begin = {0, 77}},
    {.name = "documents",
     .shape = {2, 2, 8, 90, 90, 0, 0},
     .terms = "uvqkeb",
     .documents = halves(2, 90)},
    {.name = "documents_memory",
     .shape = {1, 2, 8, 30, 90, 60, 0},
     .terms = "b",
     .causal = false,
     .documents = halves(1, 90)},
    {.name = "prefix",
     .shape = {5, 2, 8, 200, 200, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kClipped,
     .size = 9,
     .prefix = {0, 1, 70, 128, 200}},
    {.name = "prefix_first_is_short",
     .shape = {2, 2, 8, 190, 190, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kDistance,
     .prefix = {0, 150}},
    {.name = "prefix_plain",
     .shape = {3, 2, 8, 150, 150, 0, 0},
     .terms = "",
     .prefix = {33, 9, 97}},
    {.name = "prefix_buckets_ends",
     .shape = {3, 2, 8, 150, 150, 0, 0},
     .terms = "kb",
     .map = MapKind::kBuckets,
     .size = 12,
     .key_end = {150, 100, 31},
     .prefix = {90, 140, 20},
     .dropout = 0.2},
    {.name = "prefix_window",
     .shape = {2, 2, 8, 150, 150, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kDistance,
     .window = 40,
     .prefix = {100, 3}},
    {.name = "prefix_cache",
     .shape = {2, 2, 8, 2, 90, 30, 0},
     .terms = "uvqkeb",
     .map = MapKind::kDistance,
     .prefix = {60, 3}},
    {.name = "dropout",
     .shape = {2, 3, 8, 100, 100, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kClipped,
     .size = 9,
     .dropout = 0.3},
    {.name = "dropout_memory",
     .shape = {2, 2, 8, 70, 93, 23, 0},
     .terms = "",
     .window = 50,
     .dropout = 0.6},
    {.name = "packed",
     .shape = {2, 3, 4, 70, 70, 0, 0},
     .terms = "uvqkeb",
     .layout = kPerHead,
     .packed = true},
    {.name = "add",
     .shape = {2, 3, 4, 70, 70, 0, 0},
     .terms = "uvqkeb",
     .layout = kProjected,
     .write = Write::kAdd},
    {.name = "packed_add",
     .shape = {3, 5, 4, 140, 140, 0, 0},
     .terms = "uvqkeb",
     .packed = true,
     .write = Write::kAdd},
    {.name = "add_nothing_visible",
     .shape = {1, 2, 8, 10, 10, 0, 50},
     .terms = "uvqkeb",
     .write = Write::kAdd},
    {.name = "many_units", .shape = {20, 4, 4, 70, 70, 0, 0}, .terms = "uvqkeb", .layout = kShared},
    {.name = "wide",
     .shape = {1, 1, 128, 130, 130, 0, 0},
     .terms = "uvqkeb",
     .map = MapKind::kDistance},
};
INSTANTIATE_TEST_SUITE_P(Shapes, AttentionParity, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

const AttentionCase kEverything = {.name = "",
                                   .shape = {2, 2, 16, 300, 300, 0, 0},
                                   .terms = "uvqkeb",
                                   .map = MapKind::kClipped,
                                   .size = 20,
                                   .dropout = 0.2};

// R113, R116: the same bits, whenever and by however many threads.
TEST(AttentionCpu, BitsDependOnNothing) {
  const auto expected = run_cpu(kEverything);
  for (int run = 0; run < 20; ++run) {
    const int threads = 1 + run % 3;
    EXPECT_EQ(run_cpu(kEverything, threads), expected) << threads << " threads";
  }
}

TEST(AttentionCpu, OneLongSequenceHasTheSameBitsForAllThreads) {
  AttentionCase given = kEverything;
  given.shape = {1, 1, 8, 700, 700, 0, 0};
  const auto expected = run_cpu(given, 1);
  for (const int threads : {2, 3}) {
    EXPECT_EQ(run_cpu(given, threads), expected) << threads << " threads";
  }
}

/// Every instruction set that was compiled and that this machine has.
TEST(AttentionCpu, InstructionSetsAgree) {
  const auto expected = run_reference(kEverything);
  const int64_t supported = hwy::SupportedTargets();
  for (int64_t rest = supported; rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    hwy::SetSupportedTargetsForTest(target);
    const auto actual = run_cpu(kEverything);
    SCOPED_TRACE(hwy::TargetName(target));
    for (size_t n = 0; n < expected.size(); ++n) expect_close(actual[n], expected[n]);
  }
  hwy::SetSupportedTargetsForTest(0);
}

// R93.
TEST(AttentionCpu, AKeyChangesNoOutputBeforeIt) {
  const auto backend = make_backend("cpu", 2);
  AttentionCase given = kEverything;
  given.shape = {1, 2, 16, 200, 200, 0, 0};
  AttentionProblem original(*backend, DType::kF32, given);
  original.forward();
  const auto expected = values(original.out);
  for (const int64_t j : {1, 63, 64, 100, 150, 199}) {
    AttentionProblem problem(*backend, DType::kF32, given);
    for (int64_t c = 0; c < 32; ++c) {
      set(problem.call.k.tensor, j * 33 + 1 + c, 3 + c);
      set(problem.call.v.tensor, j * 32 + c, 100 + c);
    }
    problem.forward();
    const auto actual = values(problem.out);
    for (int64_t n = 0; n < j * 32; ++n) ASSERT_EQ(actual[n], expected[n]) << j << " " << n;
    EXPECT_NE(actual[j * 32], expected[j * 32]);
  }
}

TEST(AttentionCpu, ANumberThatIsNoneIsNotHidden) {
  const auto backend = make_backend("cpu", 2);
  AttentionProblem problem(*backend, DType::kF32,
                           {.name = "", .shape = {1, 1, 8, 70, 70, 0, 0}, .terms = ""});
  set(problem.call.q.tensor, 65 * 8, std::nan(""));
  problem.forward();
  EXPECT_TRUE(std::isnan(get(problem.out, 65 * 8)));
  EXPECT_TRUE(std::isfinite(get(problem.out, 64 * 8)));
}

TEST(AttentionCpu, LargeLogitsStayFinite) {
  const auto backend = make_backend("cpu", 2);
  AttentionProblem problem(*backend, DType::kF32,
                           {.name = "", .shape = {1, 1, 8, 70, 70, 0, 0}, .terms = ""});
  for (int64_t n = 0; n < problem.call.q.tensor.count(); ++n) {
    set(problem.call.q.tensor, n, 1000 * get(problem.call.q.tensor, n));
  }
  problem.forward();
  for (const double y : values(problem.out)) ASSERT_TRUE(std::isfinite(y));
}

// R71, R79: no tensor of queries x keys, and nothing new from the system in a steady step.
TEST(AttentionCpu, MemoryGrowsWithTheLength) {
  const auto backend = make_backend("cpu", 2);
  const auto peak = [&](int64_t length) {
    AttentionCase given = {.name = "",
                           .shape = {1, 2, 8, length, length, 0, 0},
                           .terms = "uvqkeb",
                           .map = MapKind::kDistance};
    AttentionProblem problem(*backend, DType::kF32, given);
    problem.run();
    backend->reset_peak();
    problem.run();
    return static_cast<double>(backend->peak_bytes());
  };
  const double shorter = peak(512);
  EXPECT_LT(peak(2048), 4.6 * shorter);
  const int64_t requests = backend->pool_requests();
  peak(2048);
  EXPECT_EQ(backend->pool_requests(), requests);
}

}  // namespace
}  // namespace tapemeasure::test
