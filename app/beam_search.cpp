// SPDX-License-Identifier: MIT
#include "app/beam_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/generator.h"
#include "core/error.h"

namespace tapemeasure {

namespace {

/// A live hypothesis and one more token.
struct Extension {
  size_t parent;
  int32_t token;
  double sum;  // of log-probabilities
};

class Search {
 public:
  Search(const Model& model, const BeamOptions& options) : model_(model), options_(options) {}

  /// The best extensions of all live hypotheses, ties in their order.
  std::vector<Extension> best(const std::vector<std::vector<double>>& logits) const {
    std::vector<Extension> all;
    for (size_t parent = 0; parent < live.size(); ++parent) {
      // Rows added to the vocabulary beyond the tokenizer's (padding) are no tokens.
      const size_t words =
          model_.tokenizer ? static_cast<size_t>(model_.predicted()) : logits[parent].size();
      const auto end = logits[parent].begin() + static_cast<int64_t>(words);
      const double top = *std::max_element(logits[parent].begin(), end);
      double sum = 0;
      for (auto x = logits[parent].begin(); x != end; ++x) sum += std::exp(*x - top);
      check<NonFiniteError>(std::isfinite(sum),
                            "a logit is not a number: the model's weights are "
                            "not finite");
      const double before = live[parent].score - top - std::log(sum);
      for (size_t word = 0; word < words; ++word) {
        all.push_back({parent, static_cast<int32_t>(word), before + logits[parent][word]});
      }
    }
    const size_t kept = std::min(all.size(), static_cast<size_t>(2 * options_.width));
    std::partial_sort(all.begin(), all.begin() + static_cast<int64_t>(kept), all.end(),
                      [](const Extension& a, const Extension& b) {
                        if (a.sum != b.sum) return a.sum > b.sum;
                        return std::pair(a.parent, a.token) < std::pair(b.parent, b.token);
                      });
    all.resize(kept);
    return all;
  }

  /// Step n: finishes or keeps extensions; `parents` become those of the live hypotheses.
  void advance(const std::vector<Extension>& extensions, int64_t n, std::vector<int64_t>& parents) {
    const auto width = static_cast<size_t>(options_.width);
    std::vector<Hypothesis> next;
    parents.clear();
    for (size_t rank = 0; rank < extensions.size(); ++rank) {
      const Extension& extension = extensions[rank];
      const bool ends = extension.token == options_.end || n == options_.tokens;
      if (ends ? rank >= width : next.size() == width) continue;
      Hypothesis longer{live[extension.parent].tokens, extension.sum};
      longer.tokens.push_back(extension.token);
      if (ends) {
        longer.score = scored(longer.score, n);
        finished.push_back(std::move(longer));
      } else {
        next.push_back(std::move(longer));
        parents.push_back(static_cast<int64_t>(extension.parent));
      }
    }
    live = std::move(next);
    std::stable_sort(finished.begin(), finished.end(),
                     [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    if (finished.size() > width) finished.resize(width);
  }

  bool over(int64_t n) const {
    if (n == options_.tokens || live.empty()) return true;
    return static_cast<int64_t>(finished.size()) == options_.width &&
           scored(live[0].score, n) <= finished.back().score;
  }

  std::vector<Hypothesis> live = {Hypothesis{}};  // their scores are sums
  std::vector<Hypothesis> finished;

 private:
  double scored(double sum, int64_t n) const {
    return sum / std::pow(static_cast<double>(n), options_.length_penalty);
  }

  const Model& model_;
  const BeamOptions& options_;
};

}  // namespace

std::vector<Hypothesis> beam_search(const Model& model, const std::vector<int32_t>& prompt,
                                    const std::vector<int32_t>& source,
                                    const BeamOptions& options) {
  check<ConfigError>(!prompt.empty(), "the prompt is empty: give at least one token");
  check<ConfigError>(options.width > 0 && options.tokens > 0,
                     "a beam needs a width and a number of tokens above 0");
  const auto capacity = static_cast<int64_t>(prompt.size()) + options.tokens - 1;
  Continuation continuation(model, 1, capacity);
  if (!source.empty()) continuation.read({source});
  Search search(model, options);
  std::vector<std::vector<double>> logits = continuation.feed({prompt});
  std::vector<int64_t> parents;
  for (int64_t n = 1;; ++n) {
    search.advance(search.best(logits), n, parents);
    if (search.over(n)) return search.finished;
    continuation.select(parents);
    std::vector<std::vector<int32_t>> next;
    for (const Hypothesis& hypothesis : search.live) next.push_back({hypothesis.tokens.back()});
    logits = continuation.feed(next);
  }
}

}  // namespace tapemeasure
