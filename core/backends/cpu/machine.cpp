// SPDX-License-Identifier: MIT
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/backends/cpu/machine.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/machine.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/backends/cpu/parallel.h"
#include "core/backends/cpu/simd_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu::HWY_NAMESPACE {

/// `rounds` times twelve multiply-adds that do not wait for each other: enough to cover a latency
/// of five at two a cycle, in 16 registers. Returns a number that depends on all, sets
/// `operations`.
float multiply_add(int64_t rounds, double& operations) {
  const D d;
  const V x = hn::Set(d, 0.999f), y = hn::Set(d, 1e-3f);
  V s0 = y, s1 = y, s2 = y, s3 = y, s4 = y, s5 = y, s6 = y, s7 = y, s8 = y, s9 = y, s10 = y,
    s11 = y;
  for (int64_t i = 0; i < rounds; ++i) {
    s0 = hn::MulAdd(s0, x, y), s1 = hn::MulAdd(s1, x, y), s2 = hn::MulAdd(s2, x, y);
    s3 = hn::MulAdd(s3, x, y), s4 = hn::MulAdd(s4, x, y), s5 = hn::MulAdd(s5, x, y);
    s6 = hn::MulAdd(s6, x, y), s7 = hn::MulAdd(s7, x, y), s8 = hn::MulAdd(s8, x, y);
    s9 = hn::MulAdd(s9, x, y), s10 = hn::MulAdd(s10, x, y), s11 = hn::MulAdd(s11, x, y);
  }
  operations = 24 * static_cast<double>(rounds) * static_cast<double>(hn::Lanes(d));
  const V left = hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(s4, s5));
  const V right = hn::Add(hn::Add(hn::Add(s6, s7), hn::Add(s8, s9)), hn::Add(s10, s11));
  return sum_of(d, hn::Add(left, right));
}

void triad(const float* b, const float* c, float* a, int64_t count) {
  const D d;
  const V s = hn::Set(d, 3.f);
  for_vectors(d, count, [&](int64_t i, auto lanes) HWY_ATTR {
    lanes.store(d, hn::MulAdd(s, lanes.load(d, c + i), lanes.load(d, b + i)), a + i);
  });
}

}  // namespace tapemeasure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tapemeasure {
namespace cpu {
namespace {

#if defined(__x86_64__)
/// multiply_add's loop with dot products. REQUIRES: the processor has AVX512-BF16.
__attribute__((target("avx512f,avx512bf16"))) float dot_products(int64_t rounds,
                                                                 double& operations) {
  constexpr int kSums = 12, kPairs = 16;
  const __m512 small = _mm512_set1_ps(1e-3f);
  const __m512bh x = _mm512_cvtne2ps_pbh(small, small);
  __m512 sums[kSums];
  for (__m512& sum : sums) sum = small;
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < kSums; ++j) sums[j] = _mm512_dpbf16_ps(sums[j], x, x);
  }
  operations = 4.0 * kSums * kPairs * static_cast<double>(rounds);
  __m512 all = sums[0];
  for (int j = 1; j < kSums; ++j) all = _mm512_add_ps(all, sums[j]);
  return _mm512_reduce_add_ps(all);
}
bool has_dot_products() { return __builtin_cpu_supports("avx512bf16"); }
#else
float dot_products(int64_t, double&) { return 0; }
bool has_dot_products() { return false; }
#endif

HWY_EXPORT(multiply_add);
HWY_EXPORT(triad);

/// The most of `amount` a second that body() does, in turns over `seconds`; at least one turn.
template <class Body>
double best_rate(double seconds, Body&& body) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  double best = 0, spent = 0;
  do {
    const auto begin = Clock::now();
    const double amount = body();
    const auto end = Clock::now();
    best = std::max(best, amount / std::chrono::duration<double>(end - begin).count());
    spent = std::chrono::duration<double>(end - start).count();
  } while (spent < seconds);
  return best;
}

/// The most operations a second of `loop`, on `threads` threads at once.
template <class Loop>
double rate_of(int threads, double seconds, const Loop& loop) {
  constexpr int64_t kRounds = 200'000;  // about half a millisecond
  std::vector<float> results(static_cast<size_t>(threads));
  return best_rate(seconds, [&] {
    double all = 0;
#pragma omp parallel num_threads(threads) reduction(+ : all)
    {
      double operations = 0;
      results[static_cast<size_t>(omp_get_thread_num())] = loop(kRounds, operations);
      all += operations;
    }
    return all;
  });
}

}  // namespace
}  // namespace cpu

double multiply_add_rate(int threads, double seconds) {
  return cpu::rate_of(threads, seconds, [](int64_t rounds, double& operations) {
    return HWY_DYNAMIC_DISPATCH(cpu::multiply_add)(rounds, operations);
  });
}

double bf16_dot_rate(int threads, double seconds) {
  return cpu::has_dot_products() ? cpu::rate_of(threads, seconds, cpu::dot_products) : 0;
}

double triad_bandwidth(int threads, double seconds) {
  constexpr int64_t kCount = (64 << 20) / sizeof(float);
  std::vector<float> a(kCount), b(kCount, 1.f), c(kCount, 2.f);
  return cpu::best_rate(seconds, [&] {
    cpu::parallel_ranges(threads, kCount, kCount, [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(cpu::triad)
      (b.data() + begin, c.data() + begin, a.data() + begin, end - begin);
    });
    return 3.0 * kCount * sizeof(float);
  });
}

int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;  // Linux counts KiB
}

}  // namespace tapemeasure
#endif
