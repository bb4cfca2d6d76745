// SPDX-License-Identifier: MIT
#include "data/split_texts.h"

#include "core/error.h"
#include "core/utf8.h"

namespace tapemeasure {

namespace {

/// The last code-point border at or before `offset`, and not between CR and LF if they are one.
uint64_t border(const Text& text, uint64_t offset, LineEnds line_ends) {
  constexpr uint64_t kLongest = 4;
  if (offset >= text.size()) return text.size();
  const uint64_t begin = offset - std::min(offset, kLongest - 1);
  std::string window(std::min(text.size(), offset + kLongest) - begin, '\0');
  text.read(begin, window);
  const size_t found = code_point_border(window, offset - begin);
  const bool split = found > 0 && window.substr(found - 1, 2) == "\r\n";
  return begin + found - (split && line_ends == LineEnds::kLf ? 1 : 0);
}

/// The parts of a text by shares of its bytes.
std::array<TextRange, 3> cut(const Text& text, const std::vector<double>& split,
                             LineEnds line_ends) {
  double total = 0, reached = 0;
  for (const double share : split) total += share;
  std::array<TextRange, 3> parts;
  uint64_t begin = 0;
  for (size_t part = 0; part < 3; ++part) {
    reached += split[part];
    const auto offset = static_cast<uint64_t>(static_cast<double>(text.size()) * reached / total);
    const uint64_t end =
        part == 2 || reached == total ? text.size() : border(text, offset, line_ends);
    parts[part] = {&text, begin, end};
    begin = end;
  }
  return parts;
}

}  // namespace

SplitTexts::SplitTexts(const PrepareOptions& options) : line_ends_(options.line_ends) {
  parts_ = cut(add(options.texts, Split::kTrain), options.split, line_ends_);
  const auto own = [&](const std::vector<std::string>& paths, Split split) {
    if (paths.empty()) return;
    const Text& text = add(paths, split);
    parts_[static_cast<size_t>(split)] = {&text, 0, text.size()};
  };
  own(options.valid, Split::kValid);
  own(options.test, Split::kTest);
}

const Text& SplitTexts::add(const std::vector<std::string>& paths, Split split) {
  const Text& text = *texts_.emplace_back(std::make_unique<Text>(paths));
  for (TextFingerprint& file : text.survey(line_ends_, notices_))
    fingerprints_.push_back(std::move(file));
  own_[static_cast<size_t>(split)] = static_cast<int64_t>(paths.size());
  return text;
}

void SplitTexts::check_unchanged() const {
  for (const auto& text : texts_) text->check_unchanged();
}

std::shared_ptr<const Tokenizer> learn_tokenizer(const SplitTexts& corpus,
                                                 const TokenizerOptions& options) {
  const auto learner = make_learner(options);
  for (const Split split : {Split::kTrain, Split::kValid, Split::kTest}) {
    if (split != Split::kTrain && !learner->sees_all()) continue;
    if (options.kind == "byte") continue;  // nothing depends on the text
    corpus.for_each_piece(
        split, [&](std::string_view text) { return learner->cut(text); },
        [&](std::string_view piece, const TokenizerLearner::Place& place) {
          auto part = make_learner(options);
          part->see(piece, place);
          return part;
        },
        [&](std::unique_ptr<TokenizerLearner> part) { learner->merge(*part); });
  }
  return learner->learn(corpus.part(Split::kTrain).text->origin());
}

}  // namespace tapemeasure
