// SPDX-License-Identifier: MIT
// Pieces of a unigram language model (Kudo 2018), pruned from many to as many as are asked for.
#include "data/sentence_pieces.h"

namespace tapemeasure {

std::unique_ptr<TokenizerLearner> make_unigram_learner(const TokenizerOptions& options) {
  return make_piece_learner("unigram", options);
}

std::unique_ptr<Tokenizer> load_unigram_tokenizer(const std::string& description) {
  return load_piece_tokenizer("unigram", description);
}

}  // namespace tapemeasure
