// SPDX-License-Identifier: MIT
// Products that read bf16: how numbers are rounded, and that nothing else is.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "core/backend.h"
#include "core/backends/cpu/bf16.h"
#include "core/host.h"

namespace tapemeasure {
namespace {

// Rounding to the nearest of 8 bits, ties to even; infinities and NaN stay what they are.
TEST(Bf16, RoundsToNearestEven) {
  const std::vector<std::pair<float, float>> cases = {
      {1.f, 1.f},
      {1.00390625f, 1.f},         // a tie, to the even 1
      {1.01171875f, 1.015625f},   // a tie, to the even 1.015625
      {1.00390637f, 1.0078125f},  // above the tie
      {-1.00390625f, -1.f},
      {3.3895314e38f, 3.3895314e38f},  // the largest
      {3.4e38f, INFINITY},
      {INFINITY, INFINITY},
      {-INFINITY, -INFINITY},
      {1e-45f, 0.f},
      {-0.f, -0.f}};
  // A length that leaves a part of a vector, and every place in it.
  constexpr int64_t kCount = 37;
  for (const auto& [from, wanted] : cases) {
    const std::vector<float> numbers(kCount, from);
    std::vector<float> rounded(kCount);
    std::vector<uint16_t> halves(kCount + 1, 0xabcd);
    cpu::round_to_bf16(1, numbers.data(), kCount, rounded.data());
    cpu::to_bf16(1, numbers.data(), kCount, halves.data());
    for (size_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(std::bit_cast<uint32_t>(rounded[i]), std::bit_cast<uint32_t>(wanted)) << from;
      EXPECT_EQ(halves[i], std::bit_cast<uint32_t>(wanted) >> 16) << from;
    }
    EXPECT_EQ(halves[kCount], 0xabcd);
  }
  float nan = std::bit_cast<float>(0x7f800001u), rounded = 0;
  uint16_t half = 0;
  cpu::round_to_bf16(1, &nan, 1, &rounded);
  cpu::to_bf16(1, &nan, 1, &half);
  EXPECT_TRUE(std::isnan(rounded));
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(static_cast<uint32_t>(half) << 16)));
}

// Products of inputs that bf16 holds are those of f32; others differ by a rounding, and no more.
TEST(Bf16, ProductsReadRoundedNumbers) {
  const auto f32 = make_backend("cpu", 2), bf16 = make_backend("cpu:bf16", 2);
  const auto product = [](Backend& backend, double factor, bool transposed) {
    const auto numbers = [&](const Shape& shape, int cycle) {
      std::vector<double> values(static_cast<size_t>(shape.count()));
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = (static_cast<int>(i) % cycle - cycle / 2) * factor;
      }
      return to_tensor(backend, shape, DType::kF32, values);
    };
    const Tensor a = numbers(transposed ? Shape{70, 45} : Shape{45, 70}, 7);
    const Tensor b = numbers(transposed ? Shape{70, 33} : Shape{33, 70}, 5);
    const Tensor c = numbers({45, 33}, 3), bias = numbers({33}, 9);
    backend.gemm({.transpose_a = transposed, .transpose_b = !transposed, .bias = bias}, a, b,
                 {c, Write::kAdd});
    return to_doubles(c);
  };
  for (const bool transposed : {false, true}) {
    EXPECT_EQ(product(*f32, 1, transposed), product(*bf16, 1, transposed));
    const std::vector<double> exact = product(*f32, 1.003, transposed);
    const std::vector<double> rounded = product(*bf16, 1.003, transposed);
    EXPECT_NE(exact, rounded);
    constexpr double kLargestSum = 70 * 3 * 2, kTwoRoundings = 2.0 / 256;
    for (size_t i = 0; i < exact.size(); ++i) {
      EXPECT_NEAR(exact[i], rounded[i], kLargestSum * kTwoRoundings);
    }
  }
}

}  // namespace
}  // namespace tapemeasure
