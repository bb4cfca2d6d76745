// SPDX-License-Identifier: MIT
// Translation (Vaswani et al. 2017, section 5): the encoder reads a line of data.source and [END],
// the decoder predicts the line of data.target and [END], reading it shifted by [START].
//
// Pairs of about equal length go into one batch, whose padded longer side fills at most
// batch_tokens; padded lengths are multiples of 8, so that shapes come again. The table of batches
// is made once from (pairs, seed); epoch e visits its batches in a keyed permutation, so each pair
// is read exactly once per epoch. Pairs that do not fit model.context are left out. It takes 0.5 s
// for a million pairs to make the table, so no file keeps it.
#include <algorithm>

#include "core/error.h"
#include "core/random.h"
#include "data/objective/objective.h"

namespace tapemeasure {

namespace {

constexpr int64_t kStep = 8;  // of padded lengths

int64_t padded(int64_t length, int64_t longest) {
  return std::min((length + kStep - 1) / kStep * kStep, longest);
}

/// Lengths of a pair with the special tokens.
struct PairLengths {
  int64_t source, target;
  int64_t longer() const { return std::max(source, target); }
};

PairLengths lengths_of(const PairSpan& pairs, int64_t pair) {
  return {static_cast<int64_t>((*pairs.source)[pair].size()) + 1,
          static_cast<int64_t>((*pairs.target)[pair].size()) + 1};
}

struct TranslationLayout {
  int64_t context = 1, batch_tokens = 1, vocabulary = 1;
  uint64_t seed = 1;
  bool shuffled = true;
};

class TranslationSource : public FiniteSource {
 public:
  TranslationSource(const PairSpan& pairs, const TranslationLayout& layout,
                    const std::string& origin)
      : pairs_(pairs), layout_(layout) {
    for (int64_t pair = 0; pair < pairs.size(); ++pair) {
      if (lengths_of(pairs, pair).longer() <= layout.context) order_.push_back(pair);
    }
    check<DataError>(pairs.size() > 0 || !layout.shuffled,
                     "{}: no pairs: give a larger share of data.split, or more pairs", origin);
    check<DataError>(
        !order_.empty() || !layout.shuffled,
        "{}: none of {} pairs fits model.context {}: raise it, or cut the lines shorter", origin,
        pairs.size(), layout.context);
    sort();
    fill_table();
  }

  int64_t batches() const override { return static_cast<int64_t>(ends_.size()); }

  void at(int64_t step, Backend& backend, Batch& batch) const override {
    int64_t place = step % batches();
    if (layout_.shuffled) {
      const auto epoch = static_cast<uint64_t>(step / batches());
      const uint64_t key = random_key(layout_.seed, Stream::kData, epoch, hash_text("translation"));
      const Permutation order(key, static_cast<uint64_t>(batches()));
      place = static_cast<int64_t>(order(static_cast<uint64_t>(place)));
    }
    fill(place, backend, batch);
    batch.epoch = static_cast<double>(step) / static_cast<double>(batches());
  }

 private:
  /// By padded lengths; pairs of the same ones in an order of the seed's.
  void sort() {
    struct Rank {
      int64_t longer, source, target;
      uint64_t draw;
      int64_t pair;
      auto operator<=>(const Rank&) const = default;
    };
    const uint64_t key = random_key(layout_.seed, Stream::kData, 0, hash_text("pairs"));
    std::vector<Rank> ranks;
    for (const int64_t pair : order_) {
      const PairLengths lengths = lengths_of(pairs_, pair);
      const int64_t source = padded(lengths.source, layout_.context);
      const int64_t target = padded(lengths.target, layout_.context);
      ranks.push_back(
          {std::max(source, target), source, target, mix(key ^ static_cast<uint64_t>(pair)), pair});
    }
    std::sort(ranks.begin(), ranks.end());
    for (size_t i = 0; i < ranks.size(); ++i) order_[i] = ranks[i].pair;
  }

  void fill_table() {
    int64_t begin = 0, longest = 0;
    for (int64_t i = 0; i < static_cast<int64_t>(order_.size()); ++i) {
      const int64_t length =
          padded(lengths_of(pairs_, order_[static_cast<size_t>(i)]).longer(), layout_.context);
      if (i > begin && std::max(longest, length) * (i - begin + 1) > layout_.batch_tokens) {
        ends_.push_back(i);
        begin = i;
        longest = 0;
      }
      longest = std::max(longest, length);
    }
    if (!order_.empty()) ends_.push_back(static_cast<int64_t>(order_.size()));
  }

  void fill(int64_t place, Backend& backend, Batch& batch) const {
    const int64_t first = place == 0 ? 0 : ends_[static_cast<size_t>(place - 1)];
    const int64_t count = ends_[static_cast<size_t>(place)] - first;
    PairLengths longest{0, 0};
    for (int64_t s = 0; s < count; ++s) {
      const PairLengths lengths = lengths_of(pairs_, order_[static_cast<size_t>(first + s)]);
      longest = {std::max(longest.source, lengths.source),
                 std::max(longest.target, lengths.target)};
    }
    longest = {padded(longest.source, layout_.context), padded(longest.target, layout_.context)};
    const auto end = static_cast<int32_t>(layout_.vocabulary), start = end + 1;
    int32_t* source = integers(batch.source_BS, backend, {count, longest.source});
    int32_t* source_ends = integers(batch.source_lengths_B, backend, {count});
    int32_t* tokens = integers(batch.tokens_BT, backend, {count, longest.target});
    int32_t* targets = integers(batch.targets_BT, backend, {count, longest.target});
    std::fill_n(source, count * longest.source, start);
    std::fill_n(tokens, count * longest.target, start);
    std::fill_n(targets, count * longest.target, -1);
    batch.scored = 0;
    for (int64_t s = 0; s < count; ++s) {
      const int64_t pair = order_[static_cast<size_t>(first + s)];
      const std::span<const int32_t> from = (*pairs_.source)[pair], to = (*pairs_.target)[pair];
      *std::copy(from.begin(), from.end(), source + s * longest.source) = end;
      source_ends[s] = static_cast<int32_t>(from.size()) + 1;
      std::copy(to.begin(), to.end(), tokens + s * longest.target + 1);
      *std::copy(to.begin(), to.end(), targets + s * longest.target) = end;
      batch.scored += static_cast<int64_t>(to.size()) + 1;
    }
  }

  PairSpan pairs_;
  TranslationLayout layout_;
  std::vector<int64_t> order_;  // pairs, batch by batch
  std::vector<int64_t> ends_;   // of each batch in it
};

class TranslationOptions : public ObjectiveOptions {
 public:
  void visit(Fields& f) override {
    f.real("smoothing", smoothing_, {0, 0.999},
           "label smoothing: share of a target's probability spread over all tokens, in training");
  }
  Material material() const override { return Material::kPairs; }
  std::string refuses(Reader reader) const override {
    return only_for(reader, Reader::kEncoderDecoder,
                    "a translation's source and target are two sequences, which takes an "
                    "encoder_decoder");
  }
  Specials specials(const ObjectiveSetting&) const override { return {{"[END]", "[START]"}, 1}; }
  double smoothing() const override { return smoothing_; }
  const char* unit() const override { return "target token"; }
  bool has_answers() const override { return true; }

  std::unique_ptr<BatchSource> training(const Part& part,
                                        const ObjectiveSetting& setting) const override {
    return std::make_unique<TranslationSource>(part.pairs, layout(setting, true), part.origin);
  }
  std::unique_ptr<FiniteSource> evaluation(const Part& part, const ObjectiveSetting& setting,
                                           std::optional<int64_t> length) const override {
    ObjectiveSetting here = setting;
    here.context = length.value_or(setting.context);
    return std::make_unique<TranslationSource>(part.pairs, layout(here, false), part.origin);
  }
  std::string notice(const Part& part, const ObjectiveSetting& setting) const override {
    int64_t long_ones = 0, first = 0;
    for (int64_t pair = part.pairs.size(); pair-- > 0;) {
      if (lengths_of(part.pairs, pair).longer() <= setting.context) continue;
      ++long_ones;
      first = pair + 1;
    }
    if (long_ones == 0) return "";
    return fmt::format(
        "{}: {} of {} pairs do not fit model.context {} and are left out, the first "
        "is pair {}",
        part.origin, long_ones, part.pairs.size(), setting.context, first);
  }

 private:
  static TranslationLayout layout(const ObjectiveSetting& setting, bool training) {
    // An evaluation's batches depend on nothing but the pairs.
    return {.context = setting.context,
            .batch_tokens = setting.batch_tokens,
            .vocabulary = setting.vocabulary,
            .seed = training ? setting.seed : 0,
            .shuffled = training};
  }

  double smoothing_ = 0.1;
};

}  // namespace

std::unique_ptr<ObjectiveOptions> make_translation_objective() {
  return std::make_unique<TranslationOptions>();
}

}  // namespace tapemeasure
