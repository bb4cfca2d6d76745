// SPDX-License-Identifier: MIT
// Every Unicode code point is a token; ids follow the order of code points. The vocabulary is what
// the text holds (validation and test parts included: a character that only they have must not stop
// a run). Its description is the code points as UTF-8, in order.
#include <algorithm>
#include <bitset>

#include "core/error.h"
#include "core/utf8.h"
#include "data/tokenizer.h"

namespace tapemeasure {

namespace {

/// Calls `visit(code point, offset)` for each one; `place` is asked only for what is not UTF-8,
/// which is a DataError.
template <class Visit, class Place>
void for_each_code_point(std::string_view text, const Place& place, Visit visit) {
  for (size_t offset = 0; offset < text.size();) {
    if (const auto byte = static_cast<unsigned char>(text[offset]); byte < 0x80) {
      visit(int32_t{byte}, offset++);
      continue;
    }
    const CodePoint point = read_code_point(text, offset);
    if (point.value < 0) {
      std::string bytes;
      for (int i = 0; i < point.bytes; ++i) {
        bytes += fmt::format(" {:02X}", static_cast<unsigned char>(text[offset + size_t(i)]));
      }
      throw DataError(fmt::format("{}: not UTF-8:{}; use tokenizer byte, or convert it to UTF-8",
                                  place(offset), bytes));
    }
    visit(point.value, offset);
    offset += static_cast<size_t>(point.bytes);
  }
}

class CharTokenizer : public Tokenizer {
 public:
  /// REQUIRES: ascending, without repeats, not empty.
  explicit CharTokenizer(std::vector<int32_t> code_points)
      : code_points_(std::move(code_points)),
        ids_(static_cast<size_t>(code_points_.back()) + 1, -1) {
    for (size_t id = 0; id < code_points_.size(); ++id) {
      ids_[static_cast<size_t>(code_points_[id])] = static_cast<int32_t>(id);
    }
  }

  std::string kind() const override { return "char"; }
  int64_t vocabulary() const override { return static_cast<int64_t>(code_points_.size()); }

  void encode(std::string_view text, const std::string& origin,
              std::vector<int32_t>& ids) const override {
    const auto place = [&](size_t offset) { return origin + ": " + place_in_text(text, offset); };
    size_t end = ids.size();
    ids.resize(end + text.size());  // as many at most
    for_each_code_point(text, place, [&](int32_t value, size_t offset) {
      const auto index = static_cast<size_t>(value);
      if (index >= ids_.size() || ids_[index] < 0) {
        throw DataError(fmt::format(
            "{}: the character '{}' (U+{:04X}) is not in the model's vocabulary of {} characters: "
            "leave it out, or train with tokenizer byte",
            place(offset),
            value < 32 || (value >= 127 && value < 160) ? "?" : write_code_point(value), value,
            code_points_.size()));
      }
      ids[end++] = ids_[index];
    });
    ids.resize(end);
  }

  size_t cut(std::string_view text) const override { return whole_code_points(text); }

  std::string bytes_of(int32_t id) const override {
    return write_code_point(code_points_.at(static_cast<size_t>(id)));
  }

  std::string description() const override {
    std::string text;
    for (const int32_t value : code_points_) text += write_code_point(value);
    return text;
  }

 private:
  std::vector<int32_t> code_points_;
  std::vector<int32_t> ids_;  // by code point; -1: not in the vocabulary
};

class CharLearner : public TokenizerLearner {
 public:
  bool sees_all() const override { return true; }
  size_t cut(std::string_view text) const override { return whole_code_points(text); }

  void see(std::string_view piece, const Place& place) override {
    for_each_code_point(piece, place, [&](int32_t value, size_t) { seen_.set(size_t(value)); });
  }

  void merge(TokenizerLearner& other) override { seen_ |= static_cast<CharLearner&>(other).seen_; }

  std::unique_ptr<Tokenizer> learn(const std::string& origin) override {
    std::vector<int32_t> code_points;
    for (size_t value = 0; value < seen_.size(); ++value) {
      if (seen_[value]) code_points.push_back(static_cast<int32_t>(value));
    }
    check<DataError>(!code_points.empty(), "{}: no characters to make a vocabulary of", origin);
    return std::make_unique<CharTokenizer>(std::move(code_points));
  }

 private:
  std::bitset<0x110000> seen_;
};

}  // namespace

std::unique_ptr<TokenizerLearner> make_char_learner(const TokenizerOptions&) {
  return std::make_unique<CharLearner>();
}

std::unique_ptr<Tokenizer> load_char_tokenizer(const std::string& description) {
  std::vector<int32_t> code_points;
  const auto place = [](size_t) { return "the stored char vocabulary"; };
  for_each_code_point(description, place,
                      [&](int32_t value, size_t) { code_points.push_back(value); });
  const bool ordered =
      std::is_sorted(code_points.begin(), code_points.end()) &&
      std::adjacent_find(code_points.begin(), code_points.end()) == code_points.end();
  check<DataError>(ordered && !code_points.empty(),
                   "the stored char vocabulary is not an ascending list of characters");
  return std::make_unique<CharTokenizer>(std::move(code_points));
}

}  // namespace tapemeasure
