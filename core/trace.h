// SPDX-License-Identifier: MIT
// Where the time of one thread goes: named intervals, one inside the other. Off until told, and
// then cheap enough to stay in place.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tapemeasure {

/// A matrix product c [M, N] = scale a b [+ bias] [+ c], with sums of K.
struct Product {
  int64_t M = 0, N = 0, K = 0;
  bool transpose_a = false, transpose_b = false, bias = false, add = false;
  double scale = 1;
  bool operator==(const Product&) const = default;
  double operations() const;
  /// "4096 x 768 x 256, b transposed": M x N x K.
  std::string str() const;
};

class Trace {
 public:
  struct Interval {
    std::string name, detail;        ///< detail: sizes, or ""
    std::optional<Product> product;  ///< of a matrix product
    double begin = 0;                ///< microseconds since start()
    double duration = 0;             ///< microseconds
  };

  /// Begins to record; forgets what was recorded.
  void start();
  void stop() { on_ = false; }
  bool on() const { return on_; }
  /// Those that have ended, in the order in which they ended.
  const std::vector<Interval>& intervals() const { return intervals_; }

 private:
  friend class Timed;
  double now() const;
  bool on_ = false;
  std::chrono::steady_clock::time_point start_;
  std::vector<Interval> intervals_;
};

/// An interval that lasts as long as this object, on `trace` if there is one and it is on.
class Timed {
 public:
  /// Its name is `prefix` and `name`.
  Timed(Trace* trace, const char* name, const char* prefix = "");
  ~Timed();
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  explicit operator bool() const { return trace_ != nullptr; }
  /// What a reader of the interval wants to know besides. REQUIRES: it is true.
  void detail(std::string text) { interval_.detail = std::move(text); }
  void product(const Product& product) { interval_.product = product; }

 private:
  Trace* trace_;
  Trace::Interval interval_;
};

}  // namespace tapemeasure
