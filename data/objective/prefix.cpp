// SPDX-License-Identifier: MIT
// The prefix language model (Raffel et al. 2020, section 3.2.1): of each window a random number of
// tokens, 1 ... T - 1, is a prefix whose tokens see each other both ways; only what follows it is
// scored.
#include <algorithm>

#include "data/objective/windows.h"

namespace tapemeasure {

namespace {

class PrefixSource : public FiniteSource {
 public:
  PrefixSource(Windows windows, int64_t length) : windows_(std::move(windows)), length_(length) {}

  int64_t batches() const override { return windows_.batches(); }

  void at(int64_t step, Backend& backend, Batch& batch) const override {
    const int64_t sequences = windows_.sequences(step);
    int32_t* tokens = integers(batch.tokens_BT, backend, {sequences, length_});
    int32_t* targets = integers(batch.targets_BT, backend, {sequences, length_});
    int32_t* prefixes = integers(batch.prefix_B, backend, {sequences});
    batch.scored = 0;
    for (int64_t s = 0; s < sequences; ++s) {
      const int64_t first = windows_.first(step, s);
      windows_.tokens().copy(first, length_, tokens + s * length_);
      windows_.tokens().copy(first + 1, length_, targets + s * length_);
      const auto longest = static_cast<uint64_t>(std::max<int64_t>(1, length_ - 1));
      const auto prefix = 1 + static_cast<int64_t>(random_below(windows_.key(step, s), 0, longest));
      prefixes[s] = static_cast<int32_t>(prefix);
      // The last token of the prefix is the first whose next one it does not see.
      std::fill_n(targets + s * length_, prefix - 1, -1);
      batch.scored += length_ - (prefix - 1);
    }
    batch.epoch = windows_.epoch(step);
  }

 private:
  Windows windows_;
  int64_t length_;
};

class PrefixOptions : public WindowOptions {
 public:
  std::string refuses(Reader reader) const override {
    return only_for(reader, Reader::kDecoder, "only a decoder continues a prefix");
  }
  const char* unit() const override { return "token behind the prefix"; }
  bool has_prefix() const override { return true; }

  std::unique_ptr<BatchSource> training(const Part& part,
                                        const ObjectiveSetting& setting) const override {
    return std::make_unique<PrefixSource>(Windows::training(part, {.length = setting.context,
                                                                   .extra = 1,
                                                                   .sequences = setting.sequences(),
                                                                   .seed = setting.seed,
                                                                   .site = "prefix"}),
                                          setting.context);
  }
  std::unique_ptr<FiniteSource> evaluation(const Part& part, const ObjectiveSetting& setting,
                                           std::optional<int64_t> length) const override {
    ObjectiveSetting here = setting;
    here.context = length.value_or(setting.context);
    return std::make_unique<PrefixSource>(
        Windows::evaluation(part, {.length = here.context,
                                   .extra = 1,
                                   .sequences = here.sequences(),
                                   .seed = static_cast<uint64_t>(evaluation_seed_),
                                   .site = "prefix evaluation"}),
        here.context);
  }
};

}  // namespace

std::unique_ptr<ObjectiveOptions> make_prefix_objective() {
  return std::make_unique<PrefixOptions>();
}

}  // namespace tapemeasure
