// SPDX-License-Identifier: MIT
#include "core/backends/cpu/attention_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/random.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/backends/cpu/attention_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using Vector = hn::Vec<F>;
using U = hn::Rebind<uint32_t, F>;

/// Whole vectors of a range, and its tail, under one interface.
struct Whole {
  HWY_INLINE Vector load(const float* x) const { return hn::LoadU(F(), x); }
  HWY_INLINE Vector keep(Vector x, float) const { return x; }
  HWY_INLINE void store(Vector x, float* y) const { hn::StoreU(x, F(), y); }
};
struct Tail {
  HWY_INLINE Vector load(const float* x) const { return hn::MaskedLoad(mask, F(), x); }
  /// x, and `other` in the lanes past the end.
  HWY_INLINE Vector keep(Vector x, float other) const {
    return hn::IfThenElse(mask, x, hn::Set(F(), other));
  }
  HWY_INLINE void store(Vector x, float* y) const { hn::BlendedStore(x, mask, F(), y); }
  hn::Mask<F> mask;
};

template <class Body>
HWY_INLINE void ForColumns(int64_t begin, int64_t end, const Body& body) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F()));
  int64_t x = begin;
  for (; x + lanes <= end; x += lanes) body(Whole(), x);
  if (x < end) body(Tail{hn::FirstN(F(), static_cast<size_t>(end - x))}, x);
}

/// e^x for x <= 0 (or a little above): 2^n * e^r with |r| <= ln 2 / 2 and seven terms of the
/// series.
HWY_INLINE Vector Exp(Vector x) {
  const F d;
  const hn::Rebind<int32_t, F> di;
  const auto smallest = hn::Set(d, -87.0f);
  const auto n = hn::Round(hn::Mul(hn::Max(x, smallest), hn::Set(d, 1.44269504f)));
  // ln 2 in two parts; the first has few bits, so that n times it is exact.
  auto r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  auto p = hn::MulAdd(hn::Set(d, 1.0f / 5040), r, hn::Set(d, 1.0f / 720));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 120));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 24));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 6));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  const auto bits = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127)));
  // A NaN is not below, and so stays one.
  return hn::IfThenZeroElse(hn::Lt(x, smallest), hn::Mul(p, hn::BitCast(d, bits)));
}

HWY_INLINE void AddConstant(float value, int64_t begin, int64_t end, float* y) {
  ForColumns(begin, end, [&](auto part, int64_t x) HWY_ATTR {
    part.store(hn::Add(part.load(y + x), hn::Set(F(), value)), y + x);
  });
}

HWY_INLINE void AddVector(const float* values, int64_t begin, int64_t end, float* y) {
  ForColumns(begin, end, [&](auto part, int64_t x) HWY_ATTR {
    part.store(hn::Add(part.load(y + x), part.load(values + x)), y + x);
  });
}

void AddTerms(const Strip& strip, const RowTerms& terms, const StripMatrix& m) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < strip.rows; ++i) {
    const int64_t low = strip.low[i], high = strip.high[i];
    float* y = m.data + i * m.stride;
    if (terms.bias) AddVector(terms.bias - i, low, high, y);
    if (terms.below) {
      AddConstant(terms.below[i], low, std::min(high, terms.first_diagonal + i), y);
    }
    if (terms.above) {
      AddConstant(terms.above[i], std::max(low, terms.last_diagonal + i + 1), high, y);
    }
    if (terms.left) AddVector(terms.left, low, std::min(high, terms.left_end), y);
    if (terms.right) AddVector(terms.right, std::max(low, terms.right_begin), high, y);
    if (!terms.documents) continue;
    for (int64_t x = low; x < high; ++x) {
      if (terms.documents[x] != terms.query_documents[i]) y[x] = kHidden;
    }
  }
}

HWY_INLINE void Clear(const Strip& strip, const StripMatrix& m, int64_t i) {
  const auto zero = [&](int64_t begin, int64_t end) HWY_ATTR {
    ForColumns(begin, end, [&](auto part, int64_t x) HWY_ATTR {
      part.store(hn::Zero(F()), m.data + i * m.stride + x);
    });
  };
  zero(-m.before, strip.low[i]);
  zero(std::max(strip.low[i], strip.high[i]), strip.columns() + m.after);
}

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void RandomWords(uint64_t key, uint64_t sequence, uint64_t counter, int64_t count,
                            uint32_t* words) {
  for (int64_t n = 0; n < count; ++n, ++counter, words += 4) {
    const auto four = philox(key, counter, sequence);
    std::copy(four.begin(), four.end(), words);
  }
}
#else
/// Philox (core/random.h) for `count` consecutive counters, rounded up to whole vectors. Each
/// 64-bit lane works on one counter and holds 32-bit numbers.
HWY_INLINE void RandomWords(uint64_t key, uint64_t sequence, uint64_t counter, int64_t count,
                            uint32_t* words) {
  const hn::ScalableTag<uint64_t> d;
  const hn::Repartition<uint32_t, decltype(d)> d32;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto low = hn::Set(d, 0xFFFFFFFFull);
  const auto times = [&](uint32_t a, auto x)
                         HWY_ATTR { return hn::MulEven(hn::Set(d32, a), hn::BitCast(d32, x)); };
  for (int64_t n = 0; n < count; n += lanes, counter += static_cast<uint64_t>(lanes)) {
    const auto index = hn::Add(hn::Set(d, counter), hn::Iota(d, 0));
    auto x0 = hn::And(index, low), x1 = hn::ShiftRight<32>(index);
    auto x2 = hn::Set(d, sequence & 0xFFFFFFFFull), x3 = hn::Set(d, sequence >> 32);
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      const auto a = times(0xD2511F53u, x0), b = times(0xCD9E8D57u, x2);
      x0 = hn::Xor(hn::ShiftRight<32>(b), hn::Xor(x1, hn::Set(d, uint64_t{k0})));
      x1 = hn::And(b, low);
      x2 = hn::Xor(hn::ShiftRight<32>(a), hn::Xor(x3, hn::Set(d, uint64_t{k1})));
      x3 = hn::And(a, low);
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    const auto first = hn::Or(x0, hn::ShiftLeft<32>(x1));
    const auto second = hn::Or(x2, hn::ShiftLeft<32>(x3));
    hn::StoreInterleaved2(first, second, d, reinterpret_cast<uint64_t*>(words) + 2 * n);
  }
}
#endif

/// The words of row i; element x of the result decides about column x.
HWY_INLINE const uint32_t* RowWords(const Strip& strip, const StripDropout& dropout, int64_t i) {
  const uint64_t element =
      dropout.first + (static_cast<uint64_t>(i) << 24) + static_cast<uint64_t>(strip.low[i]);
  const auto skipped = static_cast<int64_t>(element % 4);
  const int64_t count = (strip.high[i] - strip.low[i] + skipped + 3) / 4;
  RandomWords(dropout.key, dropout.sequence, element / 4, count, dropout.words);
  return dropout.words + skipped - strip.low[i];
}

/// y where the word keeps it, else 0.
HWY_INLINE Vector Dropped(Vector y, const uint32_t* words, uint32_t threshold) {
  const auto drop = hn::Lt(hn::LoadU(U(), words), hn::Set(U(), threshold));
  return hn::IfThenZeroElse(hn::RebindMask(F(), drop), y);
}

HWY_INLINE float RowMaximum(const float* y, int64_t begin, int64_t end) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  const auto lanes = static_cast<int64_t>(hn::Lanes(F()));
  auto a = hn::Set(F(), kNone), b = a, c = a, e = a;
  int64_t x = begin;
  for (; x + 4 * lanes <= end; x += 4 * lanes) {
    a = hn::Max(a, hn::LoadU(F(), y + x));
    b = hn::Max(b, hn::LoadU(F(), y + x + lanes));
    c = hn::Max(c, hn::LoadU(F(), y + x + 2 * lanes));
    e = hn::Max(e, hn::LoadU(F(), y + x + 3 * lanes));
  }
  a = hn::Max(hn::Max(a, b), hn::Max(c, e));
  ForColumns(x, end, [&](auto part, int64_t at) HWY_ATTR {
    a = hn::Max(a, part.keep(part.load(y + at), kNone));
  });
  return hn::GetLane(hn::MaxOfLanes(F(), a));
}

void Exponentials(const Strip& strip, const StripDropout& dropout, const StripMatrix& m,
                  float* tops, float* sums) {
  for (int64_t i = 0; i < strip.rows; ++i) {
    const int64_t low = strip.low[i], high = strip.high[i];
    float* y = m.data + i * m.stride;
    float top = RowMaximum(y, low, high);
    // Without a finite logit there is nothing to shift by: all are hidden, or not numbers.
    if (top == -std::numeric_limits<float>::infinity()) top = 0;
    auto sum = hn::Zero(F());
    const auto shift = hn::Set(F(), top);
    const uint32_t* words = dropout.active && high > low ? RowWords(strip, dropout, i) : nullptr;
    ForColumns(low, high, [&](auto part, int64_t x) HWY_ATTR {
      auto e = Exp(hn::Sub(part.load(y + x), shift));
      sum = hn::Add(sum, part.keep(e, 0));
      if (words) e = Dropped(e, words + x, dropout.threshold);
      part.store(e, y + x);
    });
    tops[i] = top;
    sums[i] = hn::GetLane(hn::SumOfLanes(F(), sum));
    Clear(strip, m, i);
  }
}

void LogitGradients(const Strip& strip, const StripDropout& dropout, const StripMatrix& p,
                    const StripMatrix& g, const float* log_sum_exp, const float* means) {
  const auto factor = hn::Set(F(), dropout.factor);
  Strip seen = strip;
  for (int64_t i = 0; i < strip.rows; ++i) {
    if (std::isinf(log_sum_exp[i]) && log_sum_exp[i] < 0) seen.high[i] = seen.low[i];
    const int64_t low = seen.low[i], high = seen.high[i];
    float* py = p.data + i * p.stride;
    float* gy = g.data + i * g.stride;
    const auto shift = hn::Set(F(), log_sum_exp[i]), mean = hn::Set(F(), means[i]);
    const uint32_t* words = dropout.active && high > low ? RowWords(seen, dropout, i) : nullptr;
    ForColumns(low, high, [&](auto part, int64_t x) HWY_ATTR {
      const auto e = Exp(hn::Sub(part.load(py + x), shift));
      auto kept = e, gradient = part.load(gy + x);
      if (words) {
        kept = Dropped(hn::Mul(e, factor), words + x, dropout.threshold);
        gradient = Dropped(hn::Mul(gradient, factor), words + x, dropout.threshold);
      }
      part.store(kept, py + x);
      part.store(hn::Mul(e, hn::Sub(gradient, mean)), gy + x);
    });
    Clear(seen, p, i);
    Clear(seen, g, i);
  }
}

void AddDiagonals(const Strip& strip, const StripMatrix& m, float* sums) {
  for (int64_t i = 0; i < strip.rows; ++i) {
    AddVector(m.data + i * m.stride, strip.low[i], strip.high[i], sums - i);
  }
}

HWY_INLINE float RowSum(const float* y, int64_t begin, int64_t end) {
  auto sum = hn::Zero(F());
  ForColumns(begin, end,
             [&](auto part, int64_t x) HWY_ATTR { sum = hn::Add(sum, part.load(y + x)); });
  return hn::GetLane(hn::SumOfLanes(F(), sum));
}

void SumEnds(const Strip& strip, const StripMatrix& m, const RowTerms& terms, float* below,
             float* above) {
  for (int64_t i = 0; i < strip.rows; ++i) {
    const int64_t low = strip.low[i], high = strip.high[i];
    const float* y = m.data + i * m.stride;
    below[i] = RowSum(y, low, std::min(high, terms.first_diagonal + i));
    above[i] = RowSum(y, std::max(low, terms.last_diagonal + i + 1), high);
  }
}

void AddColumnSums(const StripMatrix& m, int64_t rows, int64_t begin, int64_t end, float* sums) {
  for (int64_t i = 0; i < rows; ++i) AddVector(m.data + i * m.stride, begin, end, sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace tapemeasure::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapemeasure::cpu {
HWY_EXPORT(AddTerms);
HWY_EXPORT(Exponentials);
HWY_EXPORT(LogitGradients);
HWY_EXPORT(AddDiagonals);
HWY_EXPORT(SumEnds);
HWY_EXPORT(AddColumnSums);

void add_terms(const Strip& strip, const RowTerms& terms, const StripMatrix& x) {
  HWY_DYNAMIC_DISPATCH(AddTerms)(strip, terms, x);
}
void exponentials(const Strip& strip, const StripDropout& dropout, const StripMatrix& x,
                  float* tops, float* sums) {
  HWY_DYNAMIC_DISPATCH(Exponentials)(strip, dropout, x, tops, sums);
}
void logit_gradients(const Strip& strip, const StripDropout& dropout, const StripMatrix& x,
                     const StripMatrix& g, const float* log_sum_exp, const float* means) {
  HWY_DYNAMIC_DISPATCH(LogitGradients)(strip, dropout, x, g, log_sum_exp, means);
}
void add_diagonals(const Strip& strip, const StripMatrix& y, float* sums) {
  HWY_DYNAMIC_DISPATCH(AddDiagonals)(strip, y, sums);
}
void sum_ends(const Strip& strip, const StripMatrix& y, const RowTerms& terms, float* below,
              float* above) {
  HWY_DYNAMIC_DISPATCH(SumEnds)(strip, y, terms, below, above);
}
void add_column_sums(const StripMatrix& y, int64_t rows, int64_t begin, int64_t end, float* sums) {
  HWY_DYNAMIC_DISPATCH(AddColumnSums)(y, rows, begin, end, sums);
}

}  // namespace tapemeasure::cpu
#endif
