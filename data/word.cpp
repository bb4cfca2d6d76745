// SPDX-License-Identifier: MIT
// Words as the WikiText and Penn Treebank corpora have them: what lies between ASCII white space,
// and <eos> for each newline; words that the vocabulary lacks become <unk>. Where a text has these
// two as words, they are the same tokens. Ids fall in frequency in the training part, ties by
// bytes. The description is the words in the order of their ids, a line each.
#include <algorithm>
#include <unordered_map>

#include "core/error.h"
#include "data/tokenizer.h"
#include "data/word_counts.h"

namespace tapemeasure {

namespace {

constexpr std::string_view kUnknown = "<unk>", kEndOfLine = "<eos>";

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Calls `visit(word)` for each word and each newline, in order.
template <class Visit>
void for_each_word(std::string_view text, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    if (is_space(text[at])) {
      if (text[at++] == '\n') visit(kEndOfLine);
      continue;
    }
    size_t end = at + 1;
    while (end < text.size() && !is_space(text[end])) ++end;
    visit(text.substr(at, end - at));
    at = end;
  }
}

/// Behind the last white space.
size_t cut_words(std::string_view text) {
  size_t end = text.size();
  while (end > 0 && !is_space(text[end - 1])) --end;
  return end;
}

class WordTokenizer : public Tokenizer {
 public:
  /// REQUIRES: no repeats, <unk> and <eos> among them.
  explicit WordTokenizer(std::vector<std::string> words) : words_(std::move(words)) {
    for (size_t id = 0; id < words_.size(); ++id) ids_[words_[id]] = static_cast<int32_t>(id);
    unknown_ = ids_.at(kUnknown);
    end_of_line_ = ids_.at(kEndOfLine);
  }
  WordTokenizer(const WordTokenizer&) = delete;  // ids_ points into words_

  std::string kind() const override { return "word"; }
  int64_t vocabulary() const override { return static_cast<int64_t>(words_.size()); }
  bool lossless() const override { return false; }
  std::optional<int32_t> unknown() const override { return unknown_; }
  size_t cut(std::string_view text) const override { return cut_words(text); }

  void encode(std::string_view text, const std::string&, std::vector<int32_t>& ids) const override {
    for_each_word(text, [&](std::string_view word) {
      const auto found = ids_.find(word);
      ids.push_back(found == ids_.end() ? unknown_ : found->second);
    });
  }

  std::string bytes_of(int32_t id) const override {
    return id == end_of_line_ ? "\n" : words_.at(static_cast<size_t>(id)) + " ";
  }

  std::string gap_behind(std::string_view text) const override {
    return text.empty() || is_space(text.back()) ? "" : " ";
  }

  std::string description() const override { return fmt::format("{}", fmt::join(words_, "\n")); }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string_view, int32_t> ids_;
  int32_t unknown_ = 0, end_of_line_ = 0;
};

class WordLearner : public TokenizerLearner {
 public:
  explicit WordLearner(const TokenizerOptions& options) : options_(options) {}

  size_t cut(std::string_view text) const override { return cut_words(text); }

  void see(std::string_view piece, const Place&) override {
    for_each_word(piece, [&](std::string_view word) { counts_.add(word); });
  }

  void merge(TokenizerLearner& other) override {
    counts_.merge(static_cast<WordLearner&>(other).counts_);
  }

  std::unique_ptr<Tokenizer> learn(const std::string&) override {
    // What is left out counts as <unk>, which may thereby become the most frequent of all.
    int64_t unknown = 0, ends = 0;
    std::vector<std::pair<int64_t, std::string_view>> kept;
    const auto most = static_cast<size_t>(std::max<int64_t>(
        0, options_.vocabulary.value_or(std::numeric_limits<int32_t>::max()) - 2));
    for (const WordCounts::Word* word : counts_.sorted()) {
      const auto& [text, count] = *word;
      if (text == kEndOfLine) {
        ends = count;
      } else if (text != kUnknown && count >= options_.min_frequency && kept.size() < most) {
        kept.emplace_back(-count, text);
      } else {
        unknown += count;
      }
    }
    kept.emplace_back(-ends, kEndOfLine);
    kept.emplace_back(-unknown, kUnknown);
    std::sort(kept.begin(), kept.end());
    std::vector<std::string> words;
    for (const auto& [count, text] : kept) words.emplace_back(text);
    return std::make_unique<WordTokenizer>(std::move(words));
  }

 private:
  TokenizerOptions options_;
  WordCounts counts_;
};

}  // namespace

std::unique_ptr<TokenizerLearner> make_word_learner(const TokenizerOptions& options) {
  return std::make_unique<WordLearner>(options);
}

std::unique_ptr<Tokenizer> load_word_tokenizer(const std::string& description) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= description.size();) {
    const size_t end = std::min(description.find('\n', at), description.size());
    words.push_back(description.substr(at, end - at));
    at = end + 1;
  }
  std::vector<std::string_view> sorted(words.begin(), words.end());
  std::sort(sorted.begin(), sorted.end());
  const auto has = [&](std::string_view word) {
    return std::binary_search(sorted.begin(), sorted.end(), word);
  };
  const bool good = has(kUnknown) && has(kEndOfLine) &&
                    std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
                    std::all_of(words.begin(), words.end(), [](const std::string& word) {
                      return !word.empty() && std::none_of(word.begin(), word.end(), is_space);
                    });
  check<DataError>(good, "the stored word vocabulary is not a list of different words");
  return std::make_unique<WordTokenizer>(std::move(words));
}

}  // namespace tapemeasure
