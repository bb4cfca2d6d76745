// SPDX-License-Identifier: MIT
// The outputs of one kernel call, twice: where the checked backend writes them, and in copies where
// `reference` does.
#pragma once

#include <string>
#include <vector>

#include "core/backend.h"

namespace tapemeasure::check_backend {

/// Largest |x|; NaN and infinities do not count. 0 if undefined.
double largest(const Tensor& x);
/// |x|, in memory of the same backend.
Tensor absolute(const Tensor& x);

class Comparison {
 public:
  /// `kernel` names the call in messages. Differences up to `bound` times the magnitude of an
  /// output are allowed: the largest of its reference values, of what was there before (when
  /// adding), and of what copy() was told.
  Comparison(std::string kernel, double bound) : kernel_(std::move(kernel)), bound_(bound) {}

  /// A copy of an output's prior contents, to be made before either backend runs. `magnitude`: the
  /// size of the terms that the output sums, where they may cancel. Undefined stays undefined; the
  /// same tensor asked for again gives the same copy.
  Tensor copy(const Tensor& output, double magnitude = 0);
  Into copy(const Into& output, double magnitude = 0);

  /// Throws Error naming the kernel, the largest excess, its index and both values.
  void finish() const;

 private:
  struct Output {
    Tensor checked, reference;
    double magnitude;
  };
  void compare(const Output& output) const;

  std::string kernel_;
  double bound_;
  std::vector<Output> outputs_;
};

}  // namespace tapemeasure::check_backend
