// SPDX-License-Identifier: MIT
// What `bench` prints: that it counts the right products. How fast they are is no test's business.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/trained_run.h"

namespace tapemeasure {
namespace {

using BenchTest = testing::TrainedRun;
using testing::Outcome;

TEST_F(BenchTest, MeasuresTheMachine) {
  const Outcome machine = run({"bench", "--json"});
  ASSERT_EQ(machine.code, 0) << machine.err;
  const auto json = nlohmann::json::parse(machine.out);
  EXPECT_GT(json.at("peak_flops").get<double>(), 1e8);
  EXPECT_GT(json.at("bandwidth").get<double>(), 1e7);
  EXPECT_FALSE(json.contains("step"));
}

// One layer of width 16 on 64 tokens, tied head: of every linear layer the product itself and both
// of its gradients.
TEST_F(BenchTest, CountsTheProductsOfAStep) {
  const Outcome step = run({"bench", "step", "c.yaml", "--seconds", "0", "--json"});
  ASSERT_EQ(step.code, 0) << step.err;
  const auto json = nlohmann::json::parse(step.out).at("step");
  double operations = 0;
  for (const auto& product : json.at("products")) {
    int64_t m = 0, n = 0, k = 0;
    const std::string sizes = product.at("product");
    ASSERT_EQ(std::sscanf(sizes.c_str(), "%ld x %ld x %ld", &m, &n, &k), 3) << sizes;
    operations += 2.0 * static_cast<double>(m * n * k) * product.at("calls").get<double>();
  }
  constexpr int64_t kTokens = 64, kWidth = 16, kLetters = 10;
  const int64_t weights =
      kWidth * 3 * kWidth + kWidth * kWidth + 2 * kWidth * 4 * kWidth + kWidth * kLetters;
  EXPECT_EQ(operations, 2.0 * 3 * kTokens * static_cast<double>(weights));
  EXPECT_GT(json.at("whole_over_products").get<double>(), 0);
}

TEST_F(BenchTest, PrintsForPeople) {
  const Outcome step = run({"bench", "step", "c.yaml", "--seconds", "0"});
  ASSERT_EQ(step.code, 0) << step.err;
  for (const char* wanted : {"peak: f32 multiply-adds", "memory: triad", "64 x 16 x 64",
                             "whole / products", "tokens/s"}) {
    EXPECT_NE(step.out.find(wanted), std::string::npos) << wanted << "\n" << step.out;
  }
}

TEST_F(BenchTest, RefusesWhatDoesNotGoTogether) {
  expect_error({"bench", "step"}, 2, {"wants a config"});
  expect_error({"bench", "machine", "c.yaml"}, 2, {"bench step CONFIG"});
  expect_error({"bench", "step", "none.yaml"}, 2, {"none.yaml"});
}

}  // namespace
}  // namespace tapemeasure
