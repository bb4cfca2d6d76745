// SPDX-License-Identifier: MIT
// The masked language model (Devlin et al. 2019, section 3.1): of each window exactly
// round(share * T) tokens, at least one, are to be predicted, drawn without replacement over the
// whole window, so that every position has the same chance, the last ones too. Of those, `mask` are
// replaced by [MASK], `random` by any token of the vocabulary, and the rest stay as they are.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "data/objective/windows.h"

namespace tapemeasure {

namespace {

struct MaskedShares {
  double share = 0.15, mask = 0.8, random = 0.1;
};

class MaskedSource : public FiniteSource {
 public:
  MaskedSource(Windows windows, int64_t length, int64_t vocabulary, const MaskedShares& shares)
      : windows_(std::move(windows)), length_(length), vocabulary_(vocabulary), shares_(shares) {
    const auto rounded = static_cast<int64_t>(std::lround(shares.share * double(length)));
    masked_ = std::clamp<int64_t>(rounded, 1, length);
  }

  int64_t batches() const override { return windows_.batches(); }

  void at(int64_t step, Backend& backend, Batch& batch) const override {
    const int64_t sequences = windows_.sequences(step);
    int32_t* tokens = integers(batch.tokens_BT, backend, {sequences, length_});
    int32_t* targets = integers(batch.targets_BT, backend, {sequences, length_});
    for (int64_t s = 0; s < sequences; ++s) {
      windows_.tokens().copy(windows_.first(step, s), length_, tokens + s * length_);
      hide(windows_.key(step, s), tokens + s * length_, targets + s * length_);
    }
    batch.scored = sequences * masked_;
    batch.epoch = windows_.epoch(step);
  }

 private:
  void hide(uint64_t key, int32_t* tokens, int32_t* targets) const {
    Selection selection(key, length_, masked_);
    const uint64_t fate_key = mix(key), token_key = mix(fate_key);
    for (int64_t t = 0; t < length_; ++t) {
      targets[t] = -1;
      if (!selection.next()) continue;
      targets[t] = tokens[t];
      const auto index = static_cast<uint64_t>(t);
      const double fate = random_uniform(fate_key, index);
      if (fate < shares_.mask) {
        tokens[t] = static_cast<int32_t>(vocabulary_);
      } else if (fate < shares_.mask + shares_.random) {
        tokens[t] = static_cast<int32_t>(
            random_below(token_key, index, static_cast<uint64_t>(vocabulary_)));
      }
    }
  }

  Windows windows_;
  int64_t length_, vocabulary_, masked_ = 1;
  MaskedShares shares_;
};

class MaskedOptions : public WindowOptions {
 public:
  void visit(Fields& f) override {
    f.real("share", shares_.share, {0, 1}, "of a window's tokens that are to be predicted");
    f.real("mask", shares_.mask, {0, 1}, "share of those that [MASK] replaces");
    f.real("random", shares_.random, {0, 1}, "share of those that a random token replaces");
    WindowOptions::visit(f);
  }
  std::string refuses(Reader reader) const override {
    return only_for(reader, Reader::kEncoder, "only an encoder sees both sides of a hidden token");
  }
  void validate(const ObjectiveSetting&) const override {
    check<ConfigError>(shares_.mask + shares_.random <= 1,
                       "objective.mask {} and objective.random {} are together more than 1",
                       shares_.mask, shares_.random);
  }
  Specials specials(const ObjectiveSetting&) const override { return {{"[MASK]"}, 0}; }
  const char* unit() const override { return "masked token"; }

  std::unique_ptr<BatchSource> training(const Part& part,
                                        const ObjectiveSetting& setting) const override {
    return std::make_unique<MaskedSource>(Windows::training(part, {.length = setting.context,
                                                                   .sequences = setting.sequences(),
                                                                   .seed = setting.seed,
                                                                   .site = "masked"}),
                                          setting.context, setting.vocabulary, shares_);
  }
  std::unique_ptr<FiniteSource> evaluation(const Part& part, const ObjectiveSetting& setting,
                                           std::optional<int64_t> length) const override {
    ObjectiveSetting here = setting;
    here.context = length.value_or(setting.context);
    return std::make_unique<MaskedSource>(
        Windows::evaluation(part, {.length = here.context,
                                   .sequences = here.sequences(),
                                   .seed = static_cast<uint64_t>(evaluation_seed_),
                                   .site = "masked evaluation"}),
        here.context, setting.vocabulary, shares_);
  }

 private:
  MaskedShares shares_;
};

}  // namespace

std::unique_ptr<ObjectiveOptions> make_masked_objective() {
  return std::make_unique<MaskedOptions>();
}

}  // namespace tapemeasure
