// SPDX-License-Identifier: MIT
// A part of a text worked on by several threads, with results in the order of the text.
#pragma once

#include <deque>
#include <future>
#include <string>

#include "core/backend.h"
#include "data/text.h"

namespace tapemeasure {

/// Calls `work(piece, offset)` for the pieces of `range` on as many threads as there are cores, and
/// `take(result)` for their results here, one after the other. Holds a few pieces at a time. What
/// either throws is thrown here, the first in the order of the text.
template <class Work, class Take>
void for_each_chunk(TextRange range, std::function<size_t(std::string_view)> cut, const Work& work,
                    const Take& take) {
  using Result = std::invoke_result_t<Work, std::string_view, uint64_t>;
  ChunkReader reader(range, std::move(cut));
  const auto most = static_cast<size_t>(default_threads()) + 1;
  std::deque<std::future<Result>> pending;
  const auto take_first = [&] {
    Result result = pending.front().get();
    pending.pop_front();
    take(std::move(result));
  };
  std::string piece;
  uint64_t offset = 0;
  while (reader.next(piece, offset)) {
    if (pending.size() == most) take_first();
    pending.push_back(std::async(std::launch::async, [&work, piece = std::move(piece), offset] {
      return work(std::string_view(piece), offset);
    }));
  }
  while (!pending.empty()) take_first();
}

}  // namespace tapemeasure
