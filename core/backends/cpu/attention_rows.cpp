// SPDX-License-Identifier: MIT
#include "core/backends/cpu/attention_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/backends/cpu/attention_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/backends/cpu/philox_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu::HWY_NAMESPACE {

/// Calls body(x, lanes) for each vector of columns in [begin, end).
template <class Body>
HWY_INLINE void for_columns(int64_t begin, int64_t end, const Body& body) {
  for_vectors(D(), end - begin, [&](int64_t i, auto lanes) HWY_ATTR { body(begin + i, lanes); });
}

/// e^x for x <= 0 (or a little above): 2^n * e^r with |r| <= ln 2 / 2 and seven terms of the
/// series.
HWY_INLINE V exponential_below_0(V x) {
  const D d;
  const hn::Rebind<int32_t, D> di;
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

HWY_INLINE void add_constant(float value, int64_t begin, int64_t end, float* y) {
  for_columns(begin, end, [&](int64_t x, auto lanes) HWY_ATTR {
    lanes.store(D(), hn::Add(lanes.load(D(), y + x), hn::Set(D(), value)), y + x);
  });
}

HWY_INLINE void add_vector(const float* values, int64_t begin, int64_t end, float* y) {
  for_columns(begin, end, [&](int64_t x, auto lanes) HWY_ATTR {
    lanes.store(D(), hn::Add(lanes.load(D(), y + x), lanes.load(D(), values + x)), y + x);
  });
}

void add_terms(const Strip& strip, const RowTerms& terms, const StripMatrix& m) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < strip.rows; ++i) {
    const int64_t low = strip.low[i], high = strip.high[i];
    float* y = m.data + i * m.stride;
    if (terms.bias) add_vector(terms.bias - i, low, high, y);
    if (terms.below) {
      add_constant(terms.below[i], low, std::min(high, terms.first_diagonal + i), y);
    }
    if (terms.above) {
      add_constant(terms.above[i], std::max(low, terms.last_diagonal + i + 1), high, y);
    }
    if (terms.left) add_vector(terms.left, low, std::min(high, terms.left_end), y);
    if (terms.right) add_vector(terms.right, std::max(low, terms.right_begin), high, y);
    if (!terms.documents) continue;
    for (int64_t x = low; x < high; ++x) {
      if (terms.documents[x] != terms.query_documents[i]) y[x] = kHidden;
    }
  }
}

HWY_INLINE void clear(const Strip& strip, const StripMatrix& m, int64_t i) {
  const auto zero = [&](int64_t begin, int64_t end) HWY_ATTR {
    for_columns(begin, end, [&](int64_t x, auto lanes) HWY_ATTR {
      lanes.store(D(), hn::Zero(D()), m.data + i * m.stride + x);
    });
  };
  zero(-m.before, strip.low[i]);
  zero(std::max(strip.low[i], strip.high[i]), strip.columns() + m.after);
}

/// The words of row i; element x of the result decides about column x.
HWY_INLINE const uint32_t* row_words(const Strip& strip, const StripDropout& dropout, int64_t i) {
  const uint64_t element =
      dropout.first + (static_cast<uint64_t>(i) << 24) + static_cast<uint64_t>(strip.low[i]);
  const auto skipped = static_cast<int64_t>(element % 4);
  const int64_t count = strip.high[i] - strip.low[i] + skipped;
  const PhiloxVectors philox(dropout.key, dropout.sequence);
  const auto step = static_cast<int64_t>(hn::Lanes(DW()));
  for (int64_t n = 0; n < count; n += 2 * step) {
    const TwoWords words = philox.at(element - element % 4 + static_cast<uint64_t>(n));
    hn::StoreU(words.first, DW(), dropout.words + n);
    hn::StoreU(words.second, DW(), dropout.words + n + step);
  }
  return dropout.words + skipped - strip.low[i];
}

/// y where the word keeps it, else 0.
HWY_INLINE V dropped(V y, const uint32_t* words, uint32_t threshold) {
  const auto drop = hn::Lt(hn::LoadU(DW(), words), hn::Set(DW(), threshold));
  return hn::IfThenZeroElse(hn::RebindMask(D(), drop), y);
}

HWY_INLINE float row_maximum(const float* y, int64_t begin, int64_t end) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  auto a = hn::Set(D(), kNone), b = a, c = a, e = a;
  int64_t x = begin;
  for (; x + 4 * lanes <= end; x += 4 * lanes) {
    a = hn::Max(a, hn::LoadU(D(), y + x));
    b = hn::Max(b, hn::LoadU(D(), y + x + lanes));
    c = hn::Max(c, hn::LoadU(D(), y + x + 2 * lanes));
    e = hn::Max(e, hn::LoadU(D(), y + x + 3 * lanes));
  }
  for (; x < end; x += lanes) {
    const auto inside = hn::FirstN(D(), static_cast<size_t>(std::min(lanes, end - x)));
    a = hn::Max(a, hn::IfThenElse(inside, hn::MaskedLoad(inside, D(), y + x), a));
  }
  return hn::GetLane(hn::MaxOfLanes(D(), hn::Max(hn::Max(a, b), hn::Max(c, e))));
}

void exponentials(const Strip& strip, const StripDropout& dropout, const StripMatrix& m,
                  float* tops, float* sums) {
  for (int64_t i = 0; i < strip.rows; ++i) {
    const int64_t low = strip.low[i], high = strip.high[i];
    float* y = m.data + i * m.stride;
    float top = row_maximum(y, low, high);
    // Without a finite logit there is nothing to shift by: all are hidden, or not numbers.
    if (top == -std::numeric_limits<float>::infinity()) top = 0;
    auto sum = hn::Zero(D());
    const auto shift = hn::Set(D(), top);
    const uint32_t* words = dropout.active && high > low ? row_words(strip, dropout, i) : nullptr;
    for_columns(low, high, [&](int64_t x, auto lanes) HWY_ATTR {
      auto e = exponential_below_0(hn::Sub(lanes.load(D(), y + x), shift));
      sum = hn::Add(sum, lanes.keep(D(), e));
      if (words) e = dropped(e, words + x, dropout.threshold);
      lanes.store(D(), e, y + x);
    });
    tops[i] = top;
    sums[i] = hn::GetLane(hn::SumOfLanes(D(), sum));
    clear(strip, m, i);
  }
}

void logit_gradients(const Strip& strip, const StripDropout& dropout, const StripMatrix& p,
                     const StripMatrix& g, const float* log_sum_exp, const float* means) {
  const auto factor = hn::Set(D(), dropout.factor);
  Strip seen = strip;
  for (int64_t i = 0; i < strip.rows; ++i) {
    if (std::isinf(log_sum_exp[i]) && log_sum_exp[i] < 0) seen.high[i] = seen.low[i];
    const int64_t low = seen.low[i], high = seen.high[i];
    float* py = p.data + i * p.stride;
    float* gy = g.data + i * g.stride;
    const auto shift = hn::Set(D(), log_sum_exp[i]), mean = hn::Set(D(), means[i]);
    const uint32_t* words = dropout.active && high > low ? row_words(seen, dropout, i) : nullptr;
    for_columns(low, high, [&](int64_t x, auto lanes) HWY_ATTR {
      const auto e = exponential_below_0(hn::Sub(lanes.load(D(), py + x), shift));
      auto kept = e, gradient = lanes.load(D(), gy + x);
      if (words) {
        kept = dropped(hn::Mul(e, factor), words + x, dropout.threshold);
        gradient = dropped(hn::Mul(gradient, factor), words + x, dropout.threshold);
      }
      lanes.store(D(), kept, py + x);
      lanes.store(D(), hn::Mul(e, hn::Sub(gradient, mean)), gy + x);
    });
    clear(seen, p, i);
    clear(seen, g, i);
  }
}

void add_diagonals(const Strip& strip, const StripMatrix& m, float* sums) {
  for (int64_t i = 0; i < strip.rows; ++i) {
    add_vector(m.data + i * m.stride, strip.low[i], strip.high[i], sums - i);
  }
}

HWY_INLINE float row_sum(const float* y, int64_t begin, int64_t end) {
  auto sum = hn::Zero(D());
  for_columns(begin, end,
              [&](int64_t x, auto lanes) HWY_ATTR { sum = hn::Add(sum, lanes.load(D(), y + x)); });
  return hn::GetLane(hn::SumOfLanes(D(), sum));
}

void sum_ends(const Strip& strip, const StripMatrix& m, const RowTerms& terms, float* below,
              float* above) {
  for (int64_t i = 0; i < strip.rows; ++i) {
    const int64_t low = strip.low[i], high = strip.high[i];
    const float* y = m.data + i * m.stride;
    below[i] = row_sum(y, low, std::min(high, terms.first_diagonal + i));
    above[i] = row_sum(y, std::max(low, terms.last_diagonal + i + 1), high);
  }
}

void add_column_sums(const StripMatrix& m, int64_t rows, int64_t begin, int64_t end, float* sums) {
  for (int64_t i = 0; i < rows; ++i) add_vector(m.data + i * m.stride, begin, end, sums);
}

}  // namespace tapemeasure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapemeasure::cpu {
HWY_EXPORT(add_terms);
HWY_EXPORT(exponentials);
HWY_EXPORT(logit_gradients);
HWY_EXPORT(add_diagonals);
HWY_EXPORT(sum_ends);
HWY_EXPORT(add_column_sums);

void add_terms(const Strip& strip, const RowTerms& terms, const StripMatrix& x) {
  HWY_DYNAMIC_DISPATCH(add_terms)(strip, terms, x);
}
void exponentials(const Strip& strip, const StripDropout& dropout, const StripMatrix& x,
                  float* tops, float* sums) {
  HWY_DYNAMIC_DISPATCH(exponentials)(strip, dropout, x, tops, sums);
}
void logit_gradients(const Strip& strip, const StripDropout& dropout, const StripMatrix& x,
                     const StripMatrix& g, const float* log_sum_exp, const float* means) {
  HWY_DYNAMIC_DISPATCH(logit_gradients)(strip, dropout, x, g, log_sum_exp, means);
}
void add_diagonals(const Strip& strip, const StripMatrix& y, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_diagonals)(strip, y, sums);
}
void sum_ends(const Strip& strip, const StripMatrix& y, const RowTerms& terms, float* below,
              float* above) {
  HWY_DYNAMIC_DISPATCH(sum_ends)(strip, y, terms, below, above);
}
void add_column_sums(const StripMatrix& y, int64_t rows, int64_t begin, int64_t end, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_column_sums)(y, rows, begin, end, sums);
}

}  // namespace tapemeasure::cpu
#endif
