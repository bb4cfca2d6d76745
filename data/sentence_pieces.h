// SPDX-License-Identifier: MIT
// What the tokenizers bpe and unigram share: vocabularies that the SentencePiece library learns,
// with a token for every byte, so that any bytes come back. The description is the library's model
// file. Only sentence_pieces.cpp includes the library.
#pragma once

#include <memory>
#include <string>

#include "data/tokenizer.h"

namespace tapemeasure {

/// `kind` is the library's name of the model: "bpe" (merges of the most frequent pairs) or
/// "unigram" (pieces of a unigram model).
std::unique_ptr<TokenizerLearner> make_piece_learner(const std::string& kind,
                                                     const TokenizerOptions& options);
std::unique_ptr<Tokenizer> load_piece_tokenizer(const std::string& kind,
                                                const std::string& description);

}  // namespace tapemeasure
