// SPDX-License-Identifier: MIT
#include "layers/position/offsets.h"

#include <bit>
#include <vector>

#include "core/host.h"

namespace tapemeasure {

Offsets offsets_of(const Span& span) {
  return {span.first_key - (span.first_query + span.queries - 1),
          span.first_key + span.keys - 1 - span.first_query};
}

Offsets with_room(const Offsets& offsets) {
  const auto room = [](int64_t n) {
    return n <= 0 ? 0 : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n)));
  };
  return {-room(-offsets.first), room(offsets.last)};
}

const OffsetMap& OffsetRows::operator()(const Span& span) const {
  const Offsets wanted = offsets_of(span);
  if (map_.rows.defined() && offsets_.contains(wanted) && &map_.rows.backend() == span.backend) {
    return map_;
  }
  offsets_ = with_room(wanted);
  std::vector<int32_t> rows;
  rows.reserve(static_cast<size_t>(offsets_.count()));
  for (int64_t r = offsets_.first; r <= offsets_.last; ++r) {
    rows.push_back(static_cast<int32_t>(row_(r)));
  }
  map_ = {to_tensor(*span.backend, {offsets_.count()}, rows), offsets_.first};
  return map_;
}

}  // namespace tapemeasure
