// SPDX-License-Identifier: MIT
// T5's denoising (Raffel et al. 2020, section 3.1.4; random_spans_noise_mask in
// text-to-text-transfer-transformer/t5/data/preprocessors.py): of a window of N tokens,
// n = round(share N) fall into k = round(n / mean_span) spans. Kept and hidden tokens are cut into
// k segments each, uniformly among all ways, and alternate, kept ones first. The source has a
// sentinel <0>, <1>, ... in place of each span, the target each sentinel followed by its span; both
// close with [END], and the decoder reads the target shifted by [START]. N is the largest for which
// the source fits model.context, so all batches have one shape and none of it is padding.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "data/objective/windows.h"

namespace tapemeasure {

namespace {

struct SpanShares {
  double share = 0.15, mean_span = 3;
};

/// What becomes of a window.
struct SpanLengths {
  int64_t window = 0, hidden = 0, spans = 0;
  int64_t source() const { return window - hidden + spans + 1; }
  int64_t target() const { return hidden + spans + 1; }
};

SpanLengths lengths_of(int64_t window, const SpanShares& shares) {
  SpanLengths lengths{.window = window};
  lengths.hidden = std::clamp<int64_t>(std::lrint(shares.share * double(window)), 1, window - 1);
  const auto spans = std::lrint(static_cast<double>(lengths.hidden) / shares.mean_span);
  // Each span has a hidden token, and a kept one before it.
  lengths.spans = std::clamp<int64_t>(spans, 1, std::min(lengths.hidden, window - lengths.hidden));
  return lengths;
}

/// The lengths whose source is the longest within `context`.
SpanLengths longest_in(int64_t context, const SpanShares& shares) {
  check<ConfigError>(context >= 4, "span corruption needs sequences of 4 tokens or more, not {}",
                     context);
  SpanLengths lengths = lengths_of(2, shares);
  while (true) {
    const SpanLengths longer = lengths_of(lengths.window + 1, shares);
    if (longer.source() > context || longer.target() > context) return lengths;
    lengths = longer;
  }
}

/// `items` cut into segments of at least one, uniformly.
class Segments {
 public:
  Segments(uint64_t key, int64_t items, int64_t segments)
      : cuts_(key, items - 1, segments - 1), left_(items) {}
  /// Length of the next segment.
  int64_t next() {
    int64_t length = 1;
    while (--left_ > 0 && !cuts_.next()) ++length;
    return length;
  }

 private:
  Selection cuts_;
  int64_t left_;
};

class SpanSource : public FiniteSource {
 public:
  SpanSource(Windows windows, const SpanLengths& lengths, int64_t vocabulary, int64_t sentinels)
      : windows_(std::move(windows)), lengths_(lengths), first_sentinel_(vocabulary) {
    end_ = static_cast<int32_t>(vocabulary + sentinels);
  }

  int64_t batches() const override { return windows_.batches(); }

  void at(int64_t step, Backend& backend, Batch& batch) const override {
    const int64_t sequences = windows_.sequences(step);
    const int64_t source_length = lengths_.source(), target_length = lengths_.target();
    int32_t* source = integers(batch.source_BS, backend, {sequences, source_length});
    int32_t* ends = integers(batch.source_lengths_B, backend, {sequences});
    int32_t* tokens = integers(batch.tokens_BT, backend, {sequences, target_length});
    int32_t* targets = integers(batch.targets_BT, backend, {sequences, target_length});
    for (int64_t s = 0; s < sequences; ++s) {
      int32_t* target = targets + s * target_length;
      int32_t* input = tokens + s * target_length;
      corrupt(windows_.first(step, s), windows_.key(step, s), source + s * source_length, target);
      input[0] = end_ + 1;
      std::copy_n(target, target_length - 1, input + 1);
      ends[s] = static_cast<int32_t>(source_length);
    }
    batch.scored = sequences * target_length;
    batch.epoch = windows_.epoch(step);
  }

 private:
  void corrupt(int64_t first, uint64_t key, int32_t* source, int32_t* target) const {
    const TokenSpan& text = windows_.tokens();
    Segments kept(key, lengths_.window - lengths_.hidden, lengths_.spans);
    Segments hidden(mix(key), lengths_.hidden, lengths_.spans);
    for (int64_t span = 0; span < lengths_.spans; ++span) {
      const auto sentinel = static_cast<int32_t>(first_sentinel_ + span);
      const int64_t keep = kept.next(), hide = hidden.next();
      text.copy(first, keep, source);
      source[keep] = *target++ = sentinel;
      text.copy(first + keep, hide, target);
      source += keep + 1;
      target += hide;
      first += keep + hide;
    }
    *source = *target = end_;
  }

  Windows windows_;
  SpanLengths lengths_;
  int64_t first_sentinel_;
  int32_t end_;
};

class SpanCorruptionOptions : public WindowOptions {
 public:
  void visit(Fields& f) override {
    f.real("share", shares_.share, {0, 0.5}, "of a window's tokens that are hidden");
    f.real("mean_span", shares_.mean_span, {1, 1e6}, "mean length of a hidden span", "tokens");
    WindowOptions::visit(f);
  }
  std::string refuses(Reader reader) const override {
    return only_for(reader, Reader::kEncoderDecoder,
                    "its source and its target are two sequences, which takes an encoder_decoder");
  }
  void validate(const ObjectiveSetting& setting) const override {
    longest_in(setting.context, shares_);
  }
  Specials specials(const ObjectiveSetting& setting) const override {
    Specials specials;
    for (int64_t span = 0; span < longest_in(setting.context, shares_).spans; ++span) {
      specials.names.push_back(fmt::format("<{}>", span));
    }
    specials.names.insert(specials.names.end(), {"[END]", "[START]"});
    specials.predicted = specials.count() - 1;
    return specials;
  }
  const char* unit() const override { return "target token"; }

  std::unique_ptr<BatchSource> training(const Part& part,
                                        const ObjectiveSetting& setting) const override {
    const SpanLengths lengths = longest_in(setting.context, shares_);
    return std::make_unique<SpanSource>(Windows::training(part, {.length = lengths.window,
                                                                 .sequences = setting.sequences(),
                                                                 .seed = setting.seed,
                                                                 .site = "span_corruption"}),
                                        lengths, setting.vocabulary, lengths.spans);
  }
  std::unique_ptr<FiniteSource> evaluation(const Part& part, const ObjectiveSetting& setting,
                                           std::optional<int64_t> length) const override {
    ObjectiveSetting here = setting;
    here.context = length.value_or(setting.context);
    const SpanLengths lengths = longest_in(here.context, shares_);
    const int64_t sentinels = longest_in(setting.context, shares_).spans;
    check<ConfigError>(lengths.spans <= sentinels,
                       "length {} hides {} spans, but the model knows only {} sentinels: use at "
                       "most {}",
                       here.context, lengths.spans, sentinels, setting.context);
    return std::make_unique<SpanSource>(
        Windows::evaluation(part, {.length = lengths.window,
                                   .sequences = here.sequences(),
                                   .seed = static_cast<uint64_t>(evaluation_seed_),
                                   .site = "span_corruption evaluation"}),
        lengths, setting.vocabulary, sentinels);
  }

 private:
  SpanShares shares_;
};

}  // namespace

std::unique_ptr<ObjectiveOptions> make_span_corruption_objective() {
  return std::make_unique<SpanCorruptionOptions>();
}

}  // namespace tapemeasure
