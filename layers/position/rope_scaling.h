// SPDX-License-Identifier: MIT
// How rotary frequencies change so that a model reaches beyond the length it was trained on: the
// `scaling` section of rope, itself chosen by a kind.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/config/fields.h"

namespace tapemeasure {

struct RopeShape {
  int64_t channels = 0;  ///< that turn, n: two for each frequency
  double theta = 10000;
  int64_t context = 0;  ///< the trained length, where none is given
};

class RopeScaling : public KindOptions {
 public:
  void visit(Fields&) override {}
  /// Throws ConfigError on keys that contradict each other or the shape.
  virtual void validate(const RopeShape&) const {}
  /// The n/2 frequencies for a call over `length` positions.
  virtual std::vector<double> frequencies(const RopeShape& shape, int64_t length) const = 0;
  /// Multiplies cosines and sines, at every length.
  virtual double attention_factor(const RopeShape&) const { return 1; }
  /// Calls of one version have the same frequencies.
  virtual int64_t version(const RopeShape&, int64_t) const { return 0; }
  /// True if there can be more than one version.
  virtual bool depends_on_length() const { return false; }
};

std::span<const Kind<RopeScaling>> rope_scalings();

}  // namespace tapemeasure
