// SPDX-License-Identifier: MIT
// What an objective makes its batches of: a prepared text, prepared pairs of texts, or nothing at
// all, where it makes up its own strings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/pair_file.h"
#include "data/token_file.h"

namespace tapemeasure {

/// One split of it.
struct Part {
  TokenSpan tokens;
  PairSpan pairs;
  std::string origin;  ///< for messages
};

struct Corpus {
  Corpus(TokenFile file) : text(std::move(file)), tokenizer(text->tokenizer()) {}
  Corpus(PairFile file) : pairs(std::move(file)), tokenizer(pairs->tokenizer()) {}
  explicit Corpus(std::shared_ptr<const Tokenizer> its_tokenizer)
      : tokenizer(std::move(its_tokenizer)) {}

  std::optional<TokenFile> text;
  std::optional<PairFile> pairs;
  std::shared_ptr<const Tokenizer> tokenizer;

  Part part(Split split) const {
    if (text) return {text->tokens(split), {}, text->origin(split)};
    if (pairs) return {{}, pairs->pairs(split), pairs->origin(split)};
    return {};
  }
  std::vector<TextFingerprint> texts() const {
    return text ? text->texts() : pairs ? pairs->texts() : std::vector<TextFingerprint>();
  }
  /// The prepared file, for messages.
  std::string path() const { return text ? text->path() : pairs ? pairs->path() : ""; }
  /// Tokens of the training part; of pairs, both sides.
  int64_t training_tokens() const {
    return text ? text->tokens(Split::kTrain).size() : pairs ? pairs->training_tokens() : 0;
  }
};

}  // namespace tapemeasure
