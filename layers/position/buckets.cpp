// SPDX-License-Identifier: MIT
#include "layers/position/buckets.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace tapemeasure {

namespace {

/// A whole number without bounds: little-endian words.
class Natural {
 public:
  Natural& times_power(int64_t base, int64_t exponent) {
    for (int64_t e = 0; e < exponent; ++e) times(static_cast<uint32_t>(base));
    return *this;
  }
  bool operator>=(const Natural& other) const {
    if (words_.size() != other.words_.size()) return words_.size() > other.words_.size();
    return !std::lexicographical_compare(words_.rbegin(), words_.rend(), other.words_.rbegin(),
                                         other.words_.rend());
  }

 private:
  void times(uint32_t factor) {
    uint64_t carry = 0;
    for (uint32_t& word : words_) {
      carry += uint64_t{word} * factor;
      word = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry > 0) words_.push_back(static_cast<uint32_t>(carry));
  }
  std::vector<uint32_t> words_ = {1};
};

/// No distance is as large.
constexpr int64_t kFar = int64_t{1} << 31;

/// low * (high / low)^(j / steps), and the whole number that it may be equal to.
struct Point {
  int64_t low, high, j, steps;

  long double value() const {
    const auto ratio = static_cast<long double>(high) / static_cast<long double>(low);
    return static_cast<long double>(low) *
           std::pow(ratio, static_cast<long double>(j) / static_cast<long double>(steps));
  }
  /// n >= the point, decided exactly.
  bool reached_by(int64_t n) const {
    return Natural().times_power(n, steps).times_power(low, j) >=
           Natural().times_power(high, j).times_power(low, steps);
  }
  /// n <= the point, decided exactly.
  bool reaches(int64_t n) const {
    return Natural().times_power(high, j).times_power(low, steps) >=
           Natural().times_power(n, steps).times_power(low, j);
  }
  /// True if rounding might have moved the point over n.
  static bool near(long double value, int64_t n) {
    return std::abs(value - static_cast<long double>(n)) <= 1e-12L * value;
  }
  int64_t ceiling() const {
    const long double x = value();
    const auto n = static_cast<int64_t>(std::llround(x));
    if (!near(x, n)) return static_cast<int64_t>(std::ceil(x));
    return reached_by(n) ? n : n + 1;
  }
  int64_t floor() const {
    const long double x = value();
    if (x >= kFar) return kFar;
    const auto n = static_cast<int64_t>(std::llround(x));
    if (!near(x, n)) return static_cast<int64_t>(std::floor(x));
    return reaches(n) ? n : n - 1;
  }
};

}  // namespace

std::vector<int64_t> logarithmic_borders(int64_t exact, int64_t limit, int64_t steps) {
  std::vector<int64_t> borders;
  for (int64_t j = 0; j < steps; ++j) borders.push_back(Point{exact, limit, j, steps}.ceiling());
  return borders;
}

T5Buckets::T5Buckets(int64_t buckets, int64_t max_distance, bool causal) : causal_(causal) {
  side_ = causal ? buckets : buckets / 2;
  exact_ = side_ / 2;
  check<ConfigError>(exact_ > 0, "position.buckets {} are too few: {} are needed", buckets,
                     causal ? 2 : 4);
  check<ConfigError>(max_distance > exact_,
                     "position.max_distance {} is not above {}, the distances that have one of the "
                     "{} buckets each: use a larger one, or fewer buckets",
                     max_distance, exact_, buckets);
  begins_ = logarithmic_borders(exact_, max_distance, side_ - exact_);
}

int64_t T5Buckets::operator()(int64_t offset) const {
  const int64_t distance = causal_ ? std::max<int64_t>(-offset, 0) : std::abs(offset);
  const int64_t ahead = !causal_ && offset > 0 ? side_ : 0;
  if (distance < exact_) return ahead + distance;
  const auto above = std::upper_bound(begins_.begin(), begins_.end(), distance);
  return ahead + exact_ + (above - begins_.begin()) - 1;
}

LogBuckets::LogBuckets(int64_t buckets, int64_t max_distance) : middle_(buckets / 2) {
  const int64_t steps = middle_ - 1;
  ends_.push_back(middle_);
  // With one step there is no room for a logarithm: all farther distances are the last bucket.
  for (int64_t n = 1; steps > 0 && middle_ + n < buckets; ++n) {
    ends_.push_back(Point{middle_, max_distance - 1, n, steps}.floor());
  }
}

int64_t LogBuckets::operator()(int64_t distance) const {
  const int64_t size = std::abs(distance), sign = distance < 0 ? -1 : 1;
  if (size <= middle_) return distance;
  if (middle_ == 1) return sign;
  const auto end = std::lower_bound(ends_.begin(), ends_.end(), size);
  return sign * (middle_ + (end - ends_.begin()));
}

}  // namespace tapemeasure
