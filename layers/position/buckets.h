// SPDX-License-Identifier: MIT
// Logarithmic buckets of distances, with borders that are exact: where a border is a tie in real
// numbers, whole numbers decide it and not the rounding of a logarithm.
#pragma once

#include <cstdint>
#include <vector>

namespace tapemeasure {

/// Where buckets begin: ceil(exact * (limit / exact)^(j / steps)) for j = 0 ... steps - 1, the
/// least whole n with n^steps exact^j >= limit^j exact^steps. REQUIRES: 0 < exact < limit.
std::vector<int64_t> logarithmic_borders(int64_t exact, int64_t limit, int64_t steps);

/// T5's buckets (Raffel et al. 2020, as released): distances 0 ... m - 1 have one each, farther
/// ones share logarithmically up to `max_distance`, and all beyond the last; m is half of them.
/// Looking both ways, keys ahead have the upper half of all buckets, and each side half as many.
class T5Buckets {
 public:
  /// Throws ConfigError when max_distance is not above m, or there are too few buckets.
  T5Buckets(int64_t buckets, int64_t max_distance, bool causal);
  /// The bucket of offset r = key - query.
  int64_t operator()(int64_t offset) const;

 private:
  bool causal_;
  int64_t exact_, side_;
  std::vector<int64_t> begins_;  // of buckets exact_, exact_ + 1, ...
};

/// DeBERTa's (He et al. 2021, version 2 as released): distances up to m = buckets / 2 are their own
/// bucket, farther ones share logarithmically so that max_distance - 1 is bucket 2m - 1; odd in the
/// distance, and `buckets` at most.
class LogBuckets {
 public:
  /// REQUIRES: buckets >= 2, max_distance > buckets / 2 + 1.
  LogBuckets(int64_t buckets, int64_t max_distance);
  int64_t operator()(int64_t distance) const;

 private:
  int64_t middle_;
  std::vector<int64_t> ends_;  // last distances of buckets middle_, middle_ + 1, ...
};

}  // namespace tapemeasure
