// SPDX-License-Identifier: MIT
// Dropout and residual sums. The words of core/random.h are computed a vector of counters at a
// time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/backends/cpu/dropout.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/backends/cpu/cpu_backend.h"
#include "core/backends/cpu/f32.h"
#include "core/backends/cpu/parallel.h"
#include "core/backends/cpu/philox_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu::HWY_NAMESPACE {

/// y = x m / (1 - rate) + residual for elements [first, first + count) of one sequence; the
/// pointers stand at `first`, a multiple of 4.
void drop(const Dropout& how, uint64_t sequence, int64_t first, const float* x,
          const float* residual, float* y, bool add, int64_t count) {
  const D d;
  const int64_t N = static_cast<int64_t>(hn::Lanes(d));
  const auto threshold = hn::Set(DW(), how.threshold());
  const V factor = hn::Set(d, static_cast<float>(1 / (1 - how.rate)));
  const auto write = [&](int64_t i, Words words, auto lanes) HWY_ATTR {
    const auto dropped = hn::RebindMask(d, hn::Lt(words, threshold));
    V v = hn::IfThenZeroElse(dropped, hn::Mul(lanes.load(d, x + i), factor));
    if (residual != nullptr) v = hn::Add(v, lanes.load(d, residual + i));
    put(d, lanes, v, y + i, add);
  };
  const PhiloxVectors philox(how.key, sequence);
  int64_t i = 0;
  for (; i + 2 * N <= count; i += 2 * N) {
    const TwoWords words = philox.at(static_cast<uint64_t>(first + i));
    write(i, words.first, Whole());
    write(i + N, words.second, Whole());
  }
  if (i == count) return;
  const TwoWords words = philox.at(static_cast<uint64_t>(first + i));
  write(i, words.first, Part{static_cast<size_t>(HWY_MIN(N, count - i))});
  if (i + N < count) write(i + N, words.second, Part{static_cast<size_t>(count - i - N)});
}

/// y = x + residual.
void copy_or_add(const float* x, const float* residual, float* y, bool add, int64_t count) {
  const D d;
  for_vectors(d, count, [&](int64_t i, auto lanes) HWY_ATTR {
    V v = lanes.load(d, x + i);
    if (residual != nullptr) v = hn::Add(v, lanes.load(d, residual + i));
    put(d, lanes, v, y + i, add);
  });
}

}  // namespace tapemeasure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapemeasure {
namespace cpu {
HWY_EXPORT(drop);
HWY_EXPORT(copy_or_add);
}  // namespace cpu

void CpuBackend::dropout(const Dropout& how, const Tensor& x, const Tensor& residual,
                         const Into& y) {
  const float *from = cpu::f32(x), *also = cpu::f32_or_null(residual);
  float* to = cpu::f32(y.tensor);
  const bool add = y.write == Write::kAdd;
  const auto offset = [also](int64_t i) { return also == nullptr ? nullptr : also + i; };
  if (x.count() == 0) return;
  if (!how.active()) {
    return cpu::parallel_elements(threads_, x.count(), [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(cpu::copy_or_add)
      (from + begin, offset(begin), to + begin, add, end - begin);
    });
  }
  constexpr int64_t kChunk = 4096;
  const int64_t sequences = x.shape().axes() == 0 ? 1 : x.shape()[0];
  const int64_t length = x.count() / sequences, chunks = (length + kChunk - 1) / kChunk;
  cpu::parallel_ranges(threads_, sequences * chunks, x.count(), [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t s = unit / chunks, first = unit % chunks * kChunk, i = s * length + first;
      HWY_DYNAMIC_DISPATCH(cpu::drop)
      (how, static_cast<uint64_t>(how.first_sequence + s), first, from + i, offset(i), to + i, add,
       std::min(kChunk, length - first));
    }
  });
}

}  // namespace tapemeasure
#endif
