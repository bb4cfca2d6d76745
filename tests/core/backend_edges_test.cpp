// SPDX-License-Identifier: MIT
// What parity at random inputs does not show: known answers, extreme numbers, repeatability, what
// steady steps allocate, and the thread count.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/backends/cpu/cpu_backend.h"
#include "core/backends/cpu/threads.h"
#include "core/error.h"
#include "parity.h"

namespace tapemeasure {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor tensor(Backend& backend, const Shape& shape, float value) {
  const Tensor x = empty(backend, shape, DType::kF32);
  std::fill(x.data<float>(), x.data<float>() + x.count(), value);
  return x;
}

// The vectors of Random123's kat_vectors file.
TEST(Philox, KnownAnswers) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint64_t ones = ~uint64_t{0};
  EXPECT_EQ(philox(ones, ones, ones), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Dropout, DropsExactlyWhatTheWordsSay) {
  for (const char* name : {"reference", "cpu"}) {
    const auto backend = make_backend(name, 2);
    const Dropout how{0.3, 0xFEDCBA9876543210ull, (int64_t{1} << 40) + 7};
    const Tensor x = tensor(*backend, {3, 10007}, 1), y = empty_like(x);
    backend->dropout(how, x, {}, y);
    for (int64_t i = 0; i < x.count(); ++i) {
      const uint64_t sequence = static_cast<uint64_t>(how.first_sequence + i / 10007);
      const bool dropped = random_word(how.key, sequence, i % 10007) < 0.3 * 4294967296.0;
      ASSERT_EQ(y.data<float>()[i] == 0, dropped) << name << " " << i;
    }
  }
}

TEST(Dropout, RowsOfALaterSequenceMatchTheWholeBatch) {
  const auto backend = make_backend("cpu", 2);
  const Tensor x = tensor(*backend, {6, 333}, 1), whole = empty_like(x), part = empty_like(x);
  backend->dropout({0.5, 9, 10}, x, {}, whole);
  backend->dropout({0.5, 9, 10}, x.rows(0, 2), {}, part.rows(0, 2));
  backend->dropout({0.5, 9, 12}, x.rows(2, 4), {}, part.rows(2, 4));
  EXPECT_TRUE(same_bits(whole, part));
}

TEST(CrossEntropy, LogitsOfTenThousand) {
  expect_parity([](Bench& b, Write) {
    const Tensor logits = b.random({9, 257}, 1e4), targets = b.ids({9}, 0, 257);
    const Tensor losses = b.output({9}, Write::kSet).tensor;
    b.backend().cross_entropy(logits, targets, 0.1, 1, losses,
                              b.output({9, 257}, Write::kSet).tensor);
  });
}

TEST(CrossEntropy, NoTargetsGiveZeros) {
  for (const char* name : {"reference", "cpu"}) {
    const auto backend = make_backend(name, 1);
    const Tensor logits = tensor(*backend, {4, 33}, kNan), losses = tensor(*backend, {4}, kNan);
    const Tensor targets = empty(*backend, {4}, DType::kI32);
    backend->fill(targets, -100);
    backend->cross_entropy(logits, targets, 0, 1, losses, logits);
    EXPECT_EQ(backend->sum_of_squares(losses), 0) << name;
    EXPECT_EQ(backend->sum_of_squares(logits), 0) << name;
  }
}

TEST(CrossEntropy, ANanLogitShowsInTheLoss) {
  for (const char* name : {"reference", "cpu"}) {
    const auto backend = make_backend(name, 1);
    for (const int64_t where : {0, 20, 36}) {
      const Tensor logits = tensor(*backend, {1, 37}, 0), losses = tensor(*backend, {1}, 0);
      logits.data<float>()[where] = kNan;
      const Tensor targets = empty(*backend, {1}, DType::kI32);
      backend->fill(targets, 5);
      backend->cross_entropy(logits, targets, 0, 1, losses, logits);
      EXPECT_TRUE(std::isnan(losses.data<float>()[0])) << name << " " << where;
    }
  }
}

TEST(Normalize, ConstantRowsGiveTheBias) {
  for (const char* name : {"reference", "cpu"}) {
    const auto backend = make_backend(name, 1);
    for (const int64_t width : {1, 7, 100, 5003}) {
      const Tensor x = tensor(*backend, {3, width}, 1234.567f), y = empty_like(x);
      const Tensor gain = tensor(*backend, {width}, 2), bias = tensor(*backend, {width}, 0.25f);
      const Tensor statistics = empty(*backend, {3, 2}, DType::kF32);
      backend->normalize(Norm::kLayerNorm, 1e-5, x, gain, bias, y, statistics);
      for (int64_t i = 0; i < y.count(); ++i) ASSERT_EQ(y.data<float>()[i], 0.25f) << name;
      EXPECT_EQ(statistics.data<float>()[0], 1234.567f);
    }
  }
}

TEST(Normalize, RowsFarFromZeroKeepTheirDigits) {
  expect_parity([](Bench& b, Write) {
    const Tensor x = b.random({5, 300}, 0.5, 5000);
    const Tensor gain = b.random({300}), bias = b.random({300});
    const Tensor y = b.output({5, 300}, Write::kSet).tensor;
    b.backend().normalize(Norm::kLayerNorm, 1e-5, x, gain, bias, y,
                          b.output({5, 2}, Write::kSet).tensor);
  });
}

TEST(Activations, ExtremesAndNan) {
  const float inputs[] = {0, -0.f, 1e-30f, -1e-30f, 5, -5, 13, -13, 90, -90, 1e4f, -1e4f, kNan};
  for (const Activation kind :
       {Activation::kRelu, Activation::kGelu, Activation::kGeluTanh, Activation::kSilu}) {
    for (const float input : inputs) {
      // Alone, so that the bound is relative to this very value, not to the largest of many.
      const auto both = [&](Backend& backend) {
        const Tensor x = tensor(backend, {1}, input), y = empty_like(x), dx = empty_like(x);
        backend.activation(kind, x, y);
        backend.activation_grad(kind, x, tensor(backend, {1}, 1), dx);
        return std::pair(y.data<float>()[0], dx.data<float>()[0]);
      };
      const auto reference = make_backend("reference"), cpu = make_backend("cpu", 1);
      const auto wanted = both(*reference), got = both(*cpu);
      SCOPED_TRACE(testing::Message() << static_cast<int>(kind) << " at " << input);
      if (std::isnan(input)) {
        EXPECT_TRUE(std::isnan(got.first) && std::isnan(wanted.first));
        continue;
      }
      EXPECT_NEAR(got.first, wanted.first, 2e-6 * std::fmax(1e-6, std::abs(wanted.first)));
      EXPECT_NEAR(got.second, wanted.second, 2e-6 * std::fmax(1, std::abs(wanted.second)));
    }
  }
}

// R115: sums by id must not depend on timing.
TEST(EmbedGrad, SameBitsInAHundredRunsWithOneFrequentId) {
  const auto backend = make_backend("cpu", 3);
  Bench bench(*backend);
  const Tensor ids = bench.ids({1, 4000}, 0, 50), dy = bench.random({1, 4000, 96});
  for (int64_t n = 0; n < 4000; ++n) {
    if (n % 10 != 0) ids.data<int32_t>()[n] = 17;
  }
  const Tensor first = empty(*backend, {50, 96}, DType::kF32), again = empty_like(first);
  backend->embed_grad(ids, dy, 1, first);
  for (int run = 0; run < 100; ++run) {
    backend->fill(again, kNan);
    backend->embed_grad(ids, dy, 1, again);
    ASSERT_TRUE(same_bits(first, again)) << run;
  }
}

// R121: primitives are made once per shape, and steady steps ask the system for nothing.
TEST(CpuBackend, SteadyStepsPrepareAndAllocateNothing) {
  CpuBackend backend(2);
  Bench bench(backend);
  const Tensor a = bench.random({48, 32}), b = bench.random({32, 24});
  const Tensor c = empty(backend, {48, 24}, DType::kF32), sums = empty(backend, {24}, DType::kF32);
  const auto step = [&] {
    backend.gemm({}, a, b, c);
    backend.gemm({}, a, b, {c, Write::kAdd});
    backend.sum_rows(c, sums);
    backend.sum(c);
  };
  step();
  EXPECT_EQ(backend.primitives_created(), 2);
  const int64_t requests = backend.pool_requests();
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(backend.primitives_created(), 2);
  EXPECT_EQ(backend.pool_requests(), requests);
}

TEST(CpuBackend, RefusesF64) {
  CpuBackend backend(1);
  const Tensor x = zeros(backend, {2, 2}, DType::kF64);
  EXPECT_THROW(backend.gemm({}, x, x, x), ShapeError);
  EXPECT_THROW(backend.sum(x), ShapeError);
}

TEST(MakeBackend, NamesAndThreads) {
  EXPECT_EQ(make_backend("check:cpu", 1)->name(), "check:cpu");
  EXPECT_THROW(make_backend("gpu"), ConfigError);
  EXPECT_THROW(make_backend("reference:bf16"), ConfigError);
  EXPECT_THROW(make_backend("cpu", -1), ConfigError);
  EXPECT_EQ(CpuBackend(3).threads(), 3);
  EXPECT_EQ(CpuBackend().threads(), cpu::default_threads());
  EXPECT_NE(describe_machine().find("oneDNN"), std::string::npos);
}

// R126: a container's CPU quota limits the threads, whatever the host has.
TEST(Threads, FollowTheQuotaOfTheControlGroup) {
  EXPECT_EQ(cpu::threads_of_quota(100000, 100000), 1);
  EXPECT_EQ(cpu::threads_of_quota(150000, 100000), 2);
  EXPECT_EQ(cpu::threads_of_quota(-1, 100000), 0);
  EXPECT_GE(cpu::default_threads(), 1);

  namespace fs = std::filesystem;
  const fs::path root = fs::path(testing::TempDir()) / "tapemeasure_cgroup";
  fs::remove_all(root);
  fs::create_directories(root / "v2/pod/job");
  fs::create_directories(root / "v1/job");
  EXPECT_EQ(cpu::cgroup_threads(root / "v2", "/pod/job"), 0);
  std::ofstream(root / "v2/pod/cpu.max") << "250000 100000\n";
  std::ofstream(root / "v2/pod/job/cpu.max") << "max 100000\n";
  EXPECT_EQ(cpu::cgroup_threads(root / "v2", "/pod/job"), 3);
  std::ofstream(root / "v2/pod/job/cpu.max") << "200000 100000\n";
  EXPECT_EQ(cpu::cgroup_threads(root / "v2", "/pod/job"), 2);
  EXPECT_EQ(cpu::cgroup_threads(root / "v2", "/elsewhere"), 0);
  std::ofstream(root / "v1/job/cpu.cfs_quota_us") << "400000\n";
  std::ofstream(root / "v1/job/cpu.cfs_period_us") << "100000\n";
  EXPECT_EQ(cpu::cgroup_threads(root / "v1", "/job"), 4);
  EXPECT_EQ(cpu::cgroup_threads(root / "v1", "/"), 0);
  fs::remove_all(root);
}

}  // namespace
}  // namespace tapemeasure
