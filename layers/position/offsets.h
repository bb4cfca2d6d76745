// SPDX-License-Identifier: MIT
// Offsets r = key - query of an attention call, and maps from them to rows of a table that are
// built once and serve every call that they reach.
#pragma once

#include <cstdint>
#include <functional>

#include "layers/position/method.h"

namespace tapemeasure {

/// Offsets [first, last], both included.
struct Offsets {
  int64_t first = 0, last = 0;
  int64_t count() const { return last - first + 1; }
  bool contains(const Offsets& other) const { return first <= other.first && other.last <= last; }
  bool operator==(const Offsets&) const = default;
};

/// All offsets that the pairs of a call have, hidden ones included.
Offsets offsets_of(const Span& span);
/// A range around it with ends at powers of two, so that growing calls seldom outgrow it.
Offsets with_room(const Offsets& offsets);

/// A map made of a function from offsets to rows.
class OffsetRows {
 public:
  explicit OffsetRows(std::function<int64_t(int64_t)> row) : row_(std::move(row)) {}
  /// Covers at least the span's offsets.
  const OffsetMap& operator()(const Span& span) const;

 private:
  std::function<int64_t(int64_t)> row_;
  mutable Offsets offsets_;
  mutable OffsetMap map_;
};

}  // namespace tapemeasure
