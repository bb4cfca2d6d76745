// SPDX-License-Identifier: MIT
#include "data/batcher.h"

#include <algorithm>

#include "core/error.h"
#include "core/random.h"

namespace tapemeasure {

Batcher::Batcher(TokenSpan tokens, const Options& options, const std::string& origin)
    : tokens_(tokens), options_(options) {
  const int64_t size = tokens.size(), context = options.context;
  if (options.order == DataOrder::kLanes) {
    lane_ = (size - 1) / options.sequences;
    windows_ = std::max<int64_t>(lane_, 0) / context;
    check<DataError>(
        windows_ > 0,
        "{}: {} tokens make {} lanes of {}, and a window of {} and its target need {}: "
        "use more text, or lower model.context or trainer.batch_tokens",
        origin, size, options.sequences, lane_, context, context + 1);
    return;
  }
  check<DataError>(size > context,
                   "{}: {} tokens, and a window of model.context {} and its target need {}: use "
                   "more text{}",
                   origin, size, context, context + 1,
                   size < 2 ? "" : fmt::format(", or lower model.context to {}", size - 1));
  windows_ = std::max<int64_t>(1, (size - context) / context);
}

int64_t Batcher::window_start(int64_t step, int64_t sequence) const {
  const int64_t context = options_.context;
  if (options_.order == DataOrder::kLanes) {
    return sequence * lane_ + (step % windows_) * context;
  }
  const int64_t position = step * options_.sequences + sequence;
  const auto epoch = static_cast<uint64_t>(position / windows_);
  const uint64_t key = random_key(options_.seed, Stream::kData, epoch, 0);
  const int64_t offsets = std::min(context, tokens_.size() - windows_ * context);
  const auto offset = static_cast<int64_t>(random_below(key, 0, static_cast<uint64_t>(offsets)));
  const Permutation order(mix(key), static_cast<uint64_t>(windows_));
  return offset + static_cast<int64_t>(order(static_cast<uint64_t>(position % windows_))) * context;
}

void Batcher::at(int64_t step, Backend& backend, Batch& batch) const {
  const int64_t context = options_.context, unscored = options_.second_half ? context / 2 : 0;
  const Shape shape{options_.sequences, context};
  int32_t* tokens = integers(batch.tokens_BT, backend, shape);
  int32_t* targets = integers(batch.targets_BT, backend, shape);
  for (int64_t sequence = 0; sequence < options_.sequences; ++sequence) {
    const int64_t first = window_start(step, sequence), row = sequence * context;
    tokens_.copy(first, context, tokens + row);
    tokens_.copy(first + 1, context, targets + row);
    std::fill_n(targets + row, unscored, -1);
  }
  batch.scored = options_.sequences * (context - unscored);
  const double begun = options_.order == DataOrder::kLanes
                           ? static_cast<double>(step)
                           : static_cast<double>(step) * static_cast<double>(options_.sequences);
  batch.epoch = begun / static_cast<double>(windows_);
  batch.restarts = options_.order == DataOrder::kLanes && step % windows_ == 0;
}

}  // namespace tapemeasure
