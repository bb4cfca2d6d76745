// SPDX-License-Identifier: MIT
#include "layers/adaptive_softmax.h"

#include <algorithm>

#include "core/error.h"

namespace tapemeasure {

void AdaptiveSoftmaxOptions::visit(Fields& f) {
  f.integers("cutoffs", cutoffs, {1, 1 << 24},
             "first words of all bins but the first, rising; none: a plain softmax", "tokens");
  f.integer("div_val", div_val, {1, 64}, "every bin is this much narrower than the one before");
  f.boolean("tied", tied, "the bins' output tables are those of the input");
  f.texts("tied_projections", tied_projections,
          "for each bin true or false: its output projection is that of the input");
}

int64_t AdaptiveSoftmaxOptions::bin_width(int64_t width, size_t bin) const {
  for (size_t b = 0; b < bin; ++b) width /= div_val;
  return width;
}

void AdaptiveSoftmaxOptions::validate(const std::function<std::string(const std::string&)>& place,
                                      int64_t width) const {
  const auto at = [&](const char* key) { return place(std::string("adaptive_softmax.") + key); };
  if (!active()) {
    check<ConfigError>(div_val == 1 && tied_projections.empty(),
                       "{}: model.adaptive_softmax without cutoffs is a plain softmax: give some, "
                       "or drop the section",
                       place("adaptive_softmax"));
    return;
  }
  const auto fall = std::adjacent_find(cutoffs.begin(), cutoffs.end(), std::greater_equal<>());
  check<ConfigError>(
      fall == cutoffs.end(), "{}: model.adaptive_softmax.cutoffs must rise, and {} follows {}",
      at("cutoffs"), fall == cutoffs.end() ? 0 : *(fall + 1), fall == cutoffs.end() ? 0 : *fall);
  const size_t bins = cutoffs.size() + 1;
  check<ConfigError>(bin_width(width, bins - 1) > 0,
                     "{}: the last of {} bins would have no width: {} / {}^{} is below 1",
                     at("div_val"), bins, width, div_val, bins - 1);
  if (tied_projections.empty()) return;
  check<ConfigError>(tied_projections.size() == bins,
                     "{}: model.adaptive_softmax.tied_projections has {} entries, but there are {} "
                     "bins",
                     at("tied_projections"), tied_projections.size(), bins);
  for (const std::string& word : tied_projections) {
    check<ConfigError>(word == "true" || word == "false",
                       "{}: model.adaptive_softmax.tied_projections: '{}' is not true or false",
                       at("tied_projections"), word);
    check<ConfigError>(div_val > 1 || word == "false",
                       "{}: model.adaptive_softmax.tied_projections: with div_val 1 there are no "
                       "projections",
                       at("tied_projections"));
  }
}

void AdaptiveSoftmaxOptions::check_vocabulary(const std::string& place, int64_t vocabulary) const {
  check<ConfigError>(!active() || cutoffs.back() < vocabulary,
                     "{}: the last of model.adaptive_softmax.cutoffs, {}, is not below the "
                     "vocabulary, {}: its bin would have no words",
                     place, active() ? cutoffs.back() : 0, vocabulary);
}

}  // namespace tapemeasure
