// SPDX-License-Identifier: MIT
// N rows of hidden states, M of them, D width, V vocabulary; bins as the header says.
#include "layers/adaptive_vocabulary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.h"
#include "core/host.h"
#include "layers/initialisation.h"
#include "layers/scored_rows.h"

namespace tapemeasure {

namespace {

/// Words [first, end) and what belongs to them; null where the model has none.
struct Bin {
  int64_t first = 0, end = 0;
  Parameter *table = nullptr, *projection = nullptr;  // of the input
  Parameter *output = nullptr, *to_output = nullptr;  // of the head, where not tied
  int64_t words() const { return end - first; }
};

/// Some rows, and their ids within a bin.
struct BinRows {
  std::vector<int32_t> rows, ids;
  int64_t count() const { return static_cast<int64_t>(rows.size()); }
};

class AdaptiveVocabulary : public Vocabulary {
 public:
  AdaptiveVocabulary(const ModelOptions& options, const Scope& scope)
      : options_(options), bins_(options.adaptive_softmax.cutoffs.size() + 1) {
    limit(options.vocabulary.value());
    int64_t first = 0;
    for (size_t b = 0; b < bins_.size(); ++b) {
      const auto& cutoffs = options.adaptive_softmax.cutoffs;
      bins_[b].first = first;
      bins_[b].end = first = b < cutoffs.size() ? cutoffs[b] : *options.vocabulary;
    }
    add_input(scope / "embedding");
    add_head(scope / "head");
  }

  Variable embed(Run& run, const Tensor& tokens_BT) const override {
    const double factor = options_.embedding_scale;
    if (embedding_) return embedding(run, run.tape.leaf(*embedding_), tokens_BT, factor);
    const std::vector<BinRows> found = rows_by_bin(tokens_BT);
    std::vector<Variable> parts;
    std::vector<Tensor> places;
    for (size_t b = 0; b < bins_.size(); ++b) {
      if (found[b].count() == 0) continue;
      const Variable rows =
          embedding(run, run.tape.leaf(*bins_[b].table), row_of(tokens_BT, found[b].ids), factor);
      parts.push_back(linear(run, rows, run.tape.leaf(*bins_[b].projection)));
      places.push_back(row_of(tokens_BT, found[b].rows));
    }
    return scatter_rows(run, parts, places, tokens_BT.count())
        .reshaped({tokens_BT.shape()[0], tokens_BT.shape()[1], options_.width});
  }

  CrossEntropy loss(Run& run, const Variable& hidden_BTD, const Tensor& targets_BT,
                    const LossOptions& options) const override {
    check<ConfigError>(options.smoothing == 0,
                       "label smoothing spreads over all words, which an adaptive softmax never "
                       "looks at together: leave one of the two out");
    return over_scored_rows(run, hidden_BTD, targets_BT,
                            [&](const Variable& hidden, const Tensor& targets) {
                              return losses(run, hidden, targets, options.factor);
                            });
  }

  /// Log-probabilities. No gradient: nothing is trained through them.
  Variable logits(Run& run, const Variable& hidden_BTD) const override {
    const Tensor& hidden = hidden_BTD.value();
    const int64_t vocabulary = *options_.vocabulary, rows = hidden.count() / options_.width;
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    std::vector<double> all(static_cast<size_t>(rows * vocabulary), kNever);
    const std::vector<double> head = log_softmax(run, hidden_BTD, 0);
    const int64_t classes = bins_[0].words() + tails();
    for (int64_t n = 0; n < rows; ++n) {
      std::copy_n(head.begin() + n * classes, bins_[0].words(), all.begin() + n * vocabulary);
    }
    for (size_t b = 1; b < bins_.size(); ++b) {
      const std::vector<double> tail = log_softmax(run, hidden_BTD, b);
      const int64_t words = seen(b), entry = cluster(b);
      for (int64_t n = 0; n < rows; ++n) {
        for (int64_t w = 0; w < words; ++w) {
          all[static_cast<size_t>(n * vocabulary + bins_[b].first + w)] =
              head[static_cast<size_t>(n * classes + entry)] +
              tail[static_cast<size_t>(n * words + w)];
        }
      }
    }
    const Shape& shape = hidden_BTD.shape();
    return Variable(
        to_tensor(hidden.backend(), {shape[0], shape[1], vocabulary}, hidden.dtype(), all));
  }

  void limit(int64_t count) override {
    options_.adaptive_softmax.check_vocabulary("model.adaptive_softmax", count);
    words_ = count;
  }

 private:
  int64_t tails() const { return static_cast<int64_t>(bins_.size()) - 1; }
  /// The entry of tail b in the head's softmax.
  int64_t cluster(size_t b) const { return bins_[0].words() + static_cast<int64_t>(b) - 1; }
  /// Words of a bin that are tokens.
  int64_t seen(size_t b) const { return std::min(bins_[b].end, words_) - bins_[b].first; }
  int64_t width(size_t b) const { return options_.adaptive_softmax.bin_width(options_.width, b); }
  bool one_table() const { return options_.adaptive_softmax.div_val == 1; }

  void add_input(const Scope& scope) {
    const Init init = Init::normal(options_.embedding_deviation());
    if (one_table()) {
      embedding_ = &scope.parameter("weight", {*options_.vocabulary, options_.width}, init,
                                    Role::kEmbedding);
      return;
    }
    for (size_t b = 0; b < bins_.size(); ++b) {
      bins_[b].table =
          &(scope / "tables" / static_cast<int64_t>(b))
               .parameter("weight", {bins_[b].words(), width(b)}, init, Role::kEmbedding);
    }
    for (size_t b = 0; b < bins_.size(); ++b) {
      bins_[b].projection = &(scope / "projections" / static_cast<int64_t>(b))
                                 .parameter("weight", {options_.width, width(b)},
                                            linear_init(options_, width(b)), Role::kLinear);
    }
  }

  void add_head(const Scope& scope) {
    const AdaptiveSoftmaxOptions& adaptive = options_.adaptive_softmax;
    if (!adaptive.tied && one_table()) {
      output_ = &scope.parameter("weight", {*options_.vocabulary, options_.width},
                                 linear_init(options_, options_.width), Role::kLinear);
    }
    for (size_t b = 0; b < bins_.size() && !one_table(); ++b) {
      const auto index = static_cast<int64_t>(b);
      if (!adaptive.tied) {
        bins_[b].output = &(scope / "tables" / index)
                               .parameter("weight", {bins_[b].words(), width(b)},
                                          linear_init(options_, width(b)), Role::kLinear);
      }
      if (adaptive.ties_projection(b)) continue;
      bins_[b].to_output = &(scope / "projections" / index)
                                .parameter("weight", {width(b), options_.width},
                                           linear_init(options_, options_.width), Role::kLinear);
    }
    const Scope clusters = scope / "clusters";
    clusters_ = &clusters.parameter("weight", {tails(), options_.width},
                                    linear_init(options_, options_.width), Role::kLinear);
    cluster_bias_ = &clusters.parameter("bias", {tails()}, Init::zeros(), Role::kBias);
    bias_ = &scope.parameter("bias", {*options_.vocabulary}, Init::zeros(), Role::kBias);
  }

  /// Rows by the bins of their ids; a row with a negative one is in none.
  std::vector<BinRows> rows_by_bin(const Tensor& ids) const {
    std::vector<BinRows> found(bins_.size());
    const auto& cutoffs = options_.adaptive_softmax.cutoffs;
    for (int64_t row = 0; row < ids.count(); ++row) {
      const int32_t id = ids.data<int32_t>()[row];
      if (id < 0) continue;
      const auto b = static_cast<size_t>(std::upper_bound(cutoffs.begin(), cutoffs.end(), id) -
                                         cutoffs.begin());
      found[b].rows.push_back(static_cast<int32_t>(row));
      found[b].ids.push_back(id - static_cast<int32_t>(bins_[b].first));
    }
    return found;
  }
  static Tensor row_of(const Tensor& like, const std::vector<int32_t>& ids) {
    return to_tensor(like.backend(), {1, static_cast<int64_t>(ids.size())}, ids);
  }

  /// Hidden rows in a bin's width.
  Variable projected(Run& run, const Variable& hidden, size_t b) const {
    if (one_table()) return hidden;
    const Bin& bin = bins_[b];
    if (bin.to_output) return linear(run, hidden, run.tape.leaf(*bin.to_output));
    return linear_transposed(run, hidden, run.tape.leaf(*bin.projection));
  }
  /// The vectors of all of a bin's words [words, D_b], and in the head those of the tails.
  Variable weight(Run& run, size_t b) const {
    const Bin& bin = bins_[b];
    const Variable words = one_table() ? rows(run, run.tape.leaf(output_ ? *output_ : *embedding_),
                                              bin.first, bin.words())
                                       : run.tape.leaf(bin.output ? *bin.output : *bin.table);
    if (b > 0) return words;
    const int64_t count = bin.words(), width = options_.width;
    return concat_rows(run, words.reshaped({1, count, width}),
                       run.tape.leaf(*clusters_).reshaped({1, tails(), width}))
        .reshaped({count + tails(), width});
  }
  Variable bias(Run& run, size_t b) const {
    const int64_t count = bins_[b].words();
    const Variable words = rows(run, run.tape.leaf(*bias_), bins_[b].first, count);
    if (b > 0) return words;
    return concat_rows(run, words.reshaped({1, count, 1}),
                       run.tape.leaf(*cluster_bias_).reshaped({1, tails(), 1}))
        .reshaped({count + tails()});
  }

  /// Losses of rows whose targets count within a bin (for the head: with the tails behind).
  CrossEntropy bin_losses(Run& run, const Variable& hidden, const Tensor& targets, double factor,
                          size_t b) const {
    return cross_entropy(run, projected(run, hidden, b), weight(run, b), bias(run, b), targets,
                         {.factor = factor, .classes = b > 0 ? seen(b) : 0});
  }

  CrossEntropy losses(Run& run, const Variable& hidden, const Tensor& targets,
                      double factor) const {
    const int64_t count = targets.count();
    std::vector<int32_t> head(static_cast<size_t>(count), -1);
    const std::vector<BinRows> found = rows_by_bin(targets);
    for (size_t b = 0; b < bins_.size(); ++b) {
      for (size_t i = 0; i < found[b].rows.size(); ++i) {
        head[static_cast<size_t>(found[b].rows[i])] =
            b > 0 ? static_cast<int32_t>(cluster(b)) : found[b].ids[i];
      }
    }
    const Tensor head_targets = to_tensor(targets.backend(), {count}, head);
    CrossEntropy sum = bin_losses(run, hidden, head_targets, factor, 0);
    const Variable matrix = hidden.reshaped({count, options_.width});
    for (size_t b = 1; b < bins_.size(); ++b) {
      if (found[b].count() == 0) continue;
      const Tensor places = row_of(targets, found[b].rows), ids = row_of(targets, found[b].ids);
      const CrossEntropy tail = bin_losses(run, embedding(run, matrix, places), ids, factor, b);
      add_losses(places, tail.losses, {sum.losses, Write::kAdd});
      sum.loss = add(run, sum.loss, tail.loss);
      sum.total += tail.total;
    }
    return sum;
  }

  /// Row by row over a bin's words that are tokens, and in the head the tails.
  std::vector<double> log_softmax(Run& run, const Variable& hidden, size_t b) const {
    const Variable logits = linear(run, projected(run, hidden, b), weight(run, b), bias(run, b));
    const int64_t stride = logits.shape()[-1], rows = logits.value().count() / stride;
    const int64_t classes = b > 0 ? seen(b) : stride;
    const std::vector<double> all = to_doubles(logits.value());
    std::vector<double> result;
    for (int64_t n = 0; n < rows; ++n) {
      const auto row = all.begin() + n * stride;
      const double top = *std::max_element(row, row + classes);
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(row[c] - top);
      for (int64_t c = 0; c < classes; ++c) result.push_back(row[c] - top - std::log(sum));
    }
    return result;
  }

  ModelOptions options_;
  std::vector<Bin> bins_;
  int64_t words_ = 0;                                   // of the vocabulary, that are tokens
  Parameter *embedding_ = nullptr, *output_ = nullptr;  // one table for all bins, where it is one
  Parameter *clusters_ = nullptr, *cluster_bias_ = nullptr, *bias_ = nullptr;
};

}  // namespace

std::unique_ptr<Vocabulary> make_adaptive_vocabulary(const ModelOptions& options,
                                                     const Scope& scope) {
  return std::make_unique<AdaptiveVocabulary>(options, scope);
}

}  // namespace tapemeasure
