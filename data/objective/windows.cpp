// SPDX-License-Identifier: MIT
#include "data/objective/windows.h"

#include <algorithm>

namespace tapemeasure {

void WindowOptions::visit(Fields& f) {
  f.integer("evaluation_seed", evaluation_seed_, {0, INT64_MAX},
            "decides what evaluations draw, whatever trainer.seed is");
}

Windows Windows::training(const Part& part, const Options& options) {
  Windows windows(part, options);
  windows.shuffled_.emplace(
      part.tokens,
      Batcher::Options{
          .sequences = options.sequences, .context = options.length, .seed = options.seed},
      part.origin);
  windows.count_ = windows.shuffled_->windows();
  return windows;
}

Windows Windows::evaluation(const Part& part, const Options& options) {
  Windows windows(part, options);
  const int64_t size = part.tokens.size() - options.extra;
  windows.count_ = std::max<int64_t>(0, size) / options.length;
  return windows;
}

int64_t Windows::batches() const { return (count_ + options_.sequences - 1) / options_.sequences; }

int64_t Windows::sequences(int64_t step) const {
  if (shuffled_) return options_.sequences;
  return std::min(options_.sequences, count_ - step * options_.sequences);
}

double Windows::epoch(int64_t step) const {
  return static_cast<double>(step * options_.sequences) / static_cast<double>(count_);
}

int64_t Windows::first(int64_t step, int64_t sequence) const {
  if (shuffled_) return shuffled_->window_start(step, sequence);
  return (step * options_.sequences + sequence) * options_.length;
}

uint64_t Windows::key(int64_t step, int64_t sequence) const {
  const auto index = static_cast<uint64_t>(step * options_.sequences + sequence);
  return random_key(options_.seed, Stream::kData, index, site_);
}

}  // namespace tapemeasure
