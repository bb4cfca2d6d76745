// SPDX-License-Identifier: MIT
// Runs one kernel call on `reference` and on `cpu` with several thread counts, on equal inputs, and
// compares what it wrote. Outputs that are to be set start as NaN, so that an element left out
// shows.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "core/backend.h"
#include "core/random.h"

namespace tapemeasure {

/// The tensors of one call on one backend. The n-th request gives the same numbers on any backend.
class Bench {
 public:
  explicit Bench(Backend& backend) : backend_(backend) {}
  Backend& backend() const { return backend_; }

  Tensor random(const Shape& shape, double spread = 1, double offset = 0) {
    const Tensor x = empty(backend_, shape, DType::kF32);
    ++draws_;
    for (int64_t i = 0; i < x.count(); ++i) {
      x.data<float>()[i] = static_cast<float>(offset + spread * random_normal(draws_, i));
    }
    return x;
  }
  Tensor positive(const Shape& shape) {
    const Tensor x = random(shape);
    for (int64_t i = 0; i < x.count(); ++i)
      x.data<float>()[i] = 0.01f + std::abs(x.data<float>()[i]);
    return x;
  }
  /// Integers in [low, high).
  Tensor ids(const Shape& shape, int64_t low, int64_t high) {
    const Tensor x = empty(backend_, shape, DType::kI32);
    ++draws_;
    for (int64_t i = 0; i < x.count(); ++i) {
      x.data<int32_t>()[i] =
          static_cast<int32_t>(low + static_cast<int64_t>(random_below(draws_, i, high - low)));
    }
    return x;
  }
  Into output(const Shape& shape, Write write) {
    Tensor y = random(shape);
    if (write == Write::kSet) {
      for (int64_t i = 0; i < y.count(); ++i) {
        y.data<float>()[i] = std::numeric_limits<float>::quiet_NaN();
      }
    }
    return {changed(y), write};
  }
  /// Remembers a tensor that the call changes.
  Tensor changed(const Tensor& tensor) {
    outputs_.push_back(tensor);
    return tensor;
  }
  const std::vector<Tensor>& outputs() const { return outputs_; }

 private:
  Backend& backend_;
  std::vector<Tensor> outputs_;
  uint64_t draws_ = 0;
};

using KernelCall = std::function<void(Bench&, Write)>;

/// |got - wanted| <= tolerance * max |wanted|, NaN where NaN is wanted.
inline void expect_close(const Tensor& got, const Tensor& wanted, double tolerance) {
  double largest = 1e-30;
  for (int64_t i = 0; i < wanted.count(); ++i) {
    largest = std::fmax(largest, std::abs(wanted.data<float>()[i]));
  }
  for (int64_t i = 0; i < wanted.count(); ++i) {
    const double g = got.data<float>()[i], w = wanted.data<float>()[i];
    if (std::isnan(g) && std::isnan(w)) continue;
    if (std::isinf(w) && g == w) continue;
    ASSERT_LE(std::abs(g - w), tolerance * largest)
        << "element " << i << " of " << wanted.shape().str() << ": got " << g << ", wanted " << w;
  }
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() &&
         (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

/// Also that 1, 2 and 3 threads give the same bits, unless the loop is a library's.
inline void expect_parity(const KernelCall& call, double tolerance = 2e-6, bool ours = true) {
  const auto reference = make_backend("reference");
  const std::unique_ptr<Backend> cpus[] = {make_backend("cpu", 1), make_backend("cpu", 2),
                                           make_backend("cpu", 3)};
  for (const Write write : {Write::kSet, Write::kAdd}) {
    SCOPED_TRACE(write == Write::kSet ? "set" : "add");
    Bench wanted(*reference), first(*cpus[0]);
    call(wanted, write);
    call(first, write);
    ASSERT_EQ(wanted.outputs().size(), first.outputs().size());
    for (size_t i = 0; i < wanted.outputs().size(); ++i) {
      SCOPED_TRACE("output " + std::to_string(i));
      expect_close(first.outputs()[i], wanted.outputs()[i], tolerance);
      if (testing::Test::HasFatalFailure()) return;
    }
    for (int threads = 2; threads <= 3; ++threads) {
      Bench other(*cpus[threads - 1]);
      call(other, write);
      for (size_t i = 0; i < wanted.outputs().size(); ++i) {
        if (ours) {
          ASSERT_TRUE(same_bits(first.outputs()[i], other.outputs()[i])) << threads << " threads";
        }
        expect_close(other.outputs()[i], wanted.outputs()[i], tolerance);
      }
    }
  }
}

/// Shapes that trip every tail and every border of a block.
inline const Shape kAwkwardShapes[] = {{1, 1},     {1, 7},     {5, 1},    {0, 5},
                                       {3, 16},    {7, 33},    {129, 65}, {64, 512},
                                       {300, 103}, {2, 3, 41}, {1, 9000}};

}  // namespace tapemeasure
