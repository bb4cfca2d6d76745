// SPDX-License-Identifier: MIT
#include "app/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string_view>

#include "core/error.h"
#include "core/utf8.h"

namespace tapemeasure {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_stop(char c) { return c == '.' || c == ','; }

/// The ASCII symbols that always stand alone: all but ' - , and .
bool stands_alone(char c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/// White space of Unicode, on which sacreBLEU splits.
bool is_space(int32_t point) {
  return (point >= 0x09 && point <= 0x0D) || (point >= 0x1C && point <= 0x20) || point == 0x85 ||
         point == 0xA0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200A) ||
         point == 0x2028 || point == 0x2029 || point == 0x202F || point == 0x205F ||
         point == 0x3000;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words(1);
  for (size_t at = 0; at < line.size();) {
    const CodePoint point = read_code_point(line, at);
    if (!is_space(point.value)) {
      words.back().append(line.substr(at, static_cast<size_t>(point.bytes)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
    at += static_cast<size_t>(point.bytes);
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// One pass over a text by pairs of bytes: where split(a, b) says so, `before`, a, `between`, b,
/// `after`; pairs do not overlap. A code point's bytes count as its last or first one.
struct PairRule {
  bool (*applies)(char a, char b);
  const char *before, *between, *after;

  std::string operator()(const std::string& text) const {
    std::string result;
    for (size_t at = 0; at < text.size(); ++at) {
      if (at + 1 == text.size() || !applies(text[at], text[at + 1])) {
        result += text[at];
        continue;
      }
      result = result + before + text[at] + between + text[at + 1] + after;
      ++at;
    }
    return result;
  }
};

// The rules of mteval-v13a.pl, in its order.
const PairRule kRules[] = {
    {[](char a, char b) { return !is_digit(a) && is_stop(b); }, "", " ", " "},
    {[](char a, char b) { return is_stop(a) && !is_digit(b); }, " ", " ", ""},
    {[](char a, char b) { return is_digit(a) && b == '-'; }, "", " ", " "},
};

using Ngrams = std::map<std::string, int64_t>;

std::array<Ngrams, Bleu::kOrders> ngrams_of(const std::vector<std::string>& words) {
  std::array<Ngrams, Bleu::kOrders> found;
  for (size_t first = 0; first < words.size(); ++first) {
    std::string ngram;
    for (size_t n = 0; n < Bleu::kOrders && first + n < words.size(); ++n) {
      ngram += words[first + n] + ' ';  // no word holds a space
      ++found[n][ngram];
    }
  }
  return found;
}

/// Adds a sentence to the counts: matches are clipped by the reference that has most, the length
/// is that of the reference nearest in length, of two as near the shorter.
void count_sentence(const std::vector<std::string>& hypothesis,
                    const std::vector<std::vector<std::string>>& references, Bleu& sum) {
  std::array<Ngrams, Bleu::kOrders> most;
  const auto length = static_cast<int64_t>(hypothesis.size());
  std::pair<int64_t, int64_t> nearest{-1, 0};  // distance, length
  for (const std::vector<std::string>& reference : references) {
    const auto found = ngrams_of(reference);
    for (size_t n = 0; n < Bleu::kOrders; ++n) {
      for (const auto& [ngram, count] : found[n]) {
        most[n][ngram] = std::max(most[n][ngram], count);
      }
    }
    const auto its = static_cast<int64_t>(reference.size());
    const std::pair<int64_t, int64_t> candidate{std::abs(its - length), its};
    if (nearest.first < 0 || candidate < nearest) nearest = candidate;
  }
  sum.hypothesis_length += length;
  sum.reference_length += nearest.second;
  const auto found = ngrams_of(hypothesis);
  for (size_t n = 0; n < Bleu::kOrders; ++n) {
    for (const auto& [ngram, count] : found[n]) {
      sum.totals[n] += count;
      const auto known = most[n].find(ngram);
      if (known != most[n].end()) sum.matches[n] += std::min(count, known->second);
    }
  }
}

/// The precision of each order, up to the first that no hypothesis is long enough for.
void smooth(const BleuOptions& options, Bleu& sum) {
  double halved = 1;
  for (size_t n = 0; n < Bleu::kOrders; ++n) {
    const double more = options.smoothing == Smoothing::kAddK && n > 0 ? options.smooth_value : 0;
    double matches = static_cast<double>(sum.matches[n]) + more;
    const double total = static_cast<double>(sum.totals[n]) + more;
    if (total == 0) return;
    if (matches == 0 && options.smoothing == Smoothing::kExp) matches = 1 / (halved *= 2);
    if (matches == 0 && options.smoothing == Smoothing::kFloor) matches = options.smooth_value;
    sum.precisions[n] = 100 * matches / total;
  }
}

}  // namespace

std::string tokenize_13a(const std::string& line) {
  std::string text = line;
  const std::pair<const char*, const char*> kReplaced[] = {
      {"<skipped>", ""}, {"-\n", ""},   {"\n", " "},  {"&quot;", "\""},
      {"&amp;", "&"},    {"&lt;", "<"}, {"&gt;", ">"}};
  for (const auto& [from, to] : kReplaced) replace_all(text, from, to);
  std::string spread = " ";
  for (const char c : text) spread += stands_alone(c) ? std::string{' ', c, ' '} : std::string{c};
  spread += ' ';
  for (const PairRule& rule : kRules) spread = rule(spread);
  std::string joined;
  for (const std::string& word : words_of(spread)) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

Bleu bleu(const std::vector<std::string>& hypotheses,
          const std::vector<std::vector<std::string>>& references, const BleuOptions& options) {
  check<ShapeError>(!references.empty(), "BLEU needs a reference");
  for (const auto& list : references) {
    check<ShapeError>(list.size() == hypotheses.size(), "BLEU: {} hypotheses, but {} references",
                      hypotheses.size(), list.size());
  }
  const auto words = [&](const std::string& line) {
    return words_of(options.tokenize ? tokenize_13a(line) : line);
  };
  Bleu sum;
  for (size_t s = 0; s < hypotheses.size(); ++s) {
    std::vector<std::vector<std::string>> its;
    for (const auto& list : references) its.push_back(words(list[s]));
    count_sentence(words(hypotheses[s]), its, sum);
  }
  if (sum.hypothesis_length < sum.reference_length) {
    sum.brevity_penalty = sum.hypothesis_length == 0
                              ? 0
                              : std::exp(1 - static_cast<double>(sum.reference_length) /
                                                 static_cast<double>(sum.hypothesis_length));
  }
  const bool any =
      std::any_of(sum.matches.begin(), sum.matches.end(), [](auto n) { return n > 0; });
  if (!any) return sum;
  smooth(options, sum);
  double logarithms = 0;
  for (const double precision : sum.precisions) logarithms += std::log(precision);
  sum.score = sum.brevity_penalty * std::exp(logarithms / Bleu::kOrders);
  return sum;
}

}  // namespace tapemeasure
