// SPDX-License-Identifier: MIT
// The checking backend: silent where the backends agree, loud where one is wrong.
#include <limits>
#include <string>

#include "core/backends/check/check_backend.h"
#include "core/backends/cpu/cpu_backend.h"
#include "core/error.h"
#include "parity.h"

namespace tapemeasure {
namespace {

TEST(CheckBackend, AgreesAndReturnsTheCheckedResults) {
  const auto checking = make_backend("check:cpu", 1), cpu = make_backend("cpu", 1);
  const auto run = [](Backend& backend) {
    Bench b(backend);
    const Tensor x = b.random({6, 40}), w = b.random({40, 40}), y = b.changed(b.random({6, 40}));
    backend.gemm({.bias = b.random({40})}, x, w, y);
    const Tensor gelu = b.changed(b.random({6, 40}));
    backend.activation(Activation::kGelu, y, {gelu, Write::kAdd});
    backend.dropout({0.2, 3, 0}, gelu, y, y);
    const Tensor statistics = empty(backend, {6, 2}, DType::kF32), z = b.changed(b.random({6, 40}));
    backend.normalize(Norm::kLayerNorm, 1e-5, y, b.random({40}), b.random({40}), z, statistics);
    const Tensor targets = b.ids({6}, -1, 40), losses = b.changed(b.random({6}));
    backend.cross_entropy(z, targets, 0.1, 1, losses, z);
    const Tensor m = b.changed(b.random({6, 40})), v = b.changed(b.positive({6, 40}));
    backend.adamw({1e-3, 0.9, 0.999, 1e-8, 0.01, 1, 3}, z, x, m, v);
    return b.outputs();
  };
  const auto got = run(*checking), wanted = run(*cpu);
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(same_bits(got[i], wanted[i])) << i;
}

// A key bias has no gradient in theory: a sum that cancels to rounding noise is no difference.
TEST(CheckBackend, LetsCancellingSumsPass) {
  const auto backend = make_backend("check:cpu", 1);
  Bench b(*backend);
  const Tensor x = b.random({1001, 5}), sums = empty(*backend, {5}, DType::kF32);
  backend->sum_rows(x, sums);
  for (int64_t c = 0; c < 5; ++c) x.data<float>()[c] -= sums.data<float>()[c];
  EXPECT_NO_THROW(backend->sum_rows(x, sums));
  const Tensor ones = empty(*backend, {1, 1001}, DType::kF32);
  backend->fill(ones, 1);
  const Tensor product = empty(*backend, {1, 5}, DType::kF32);
  EXPECT_NO_THROW(backend->gemm({}, ones, x, product));
}

/// Products of which one element is spoiled.
class SpoiledBackend : public CpuBackend {
 public:
  explicit SpoiledBackend(float error) : CpuBackend(1), error_(error) {}
  void gemm(const Gemm& how, const Tensor& a, const Tensor& b, const Into& c) override {
    CpuBackend::gemm(how, a, b, c);
    c.tensor.data<float>()[7] += error_;
  }

 private:
  float error_;
};

/// What a spoiled product is told, "" if it passes.
std::string complaint(float error) {
  CheckBackend backend(std::make_unique<SpoiledBackend>(error));
  const Tensor a = empty(backend, {3, 2}, DType::kF32), b = empty(backend, {2, 4}, DType::kF32);
  const Tensor c = empty(backend, {3, 4}, DType::kF32);
  backend.fill(a, 1);
  backend.fill(b, 2);
  try {
    backend.gemm({}, a, b, c);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CheckBackend, NamesTheKernelTheElementAndBothValues) {
  EXPECT_EQ(complaint(0), "");
  EXPECT_EQ(complaint(0.5),
            "check: gemm differs: element 7 of [3, 4] is 4.5, reference says 4; the difference is "
            "0.5, allowed is 4e-05");
  EXPECT_NE(complaint(2e-4f), "");
  EXPECT_EQ(complaint(1e-6f), "");
  EXPECT_NE(complaint(std::numeric_limits<float>::quiet_NaN()).find("is nan, reference says 4"),
            std::string::npos);
}

}  // namespace
}  // namespace tapemeasure
