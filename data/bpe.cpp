// SPDX-License-Identifier: MIT
// Byte-pair encoding (Sennrich et al. 2016): pieces grow by merging the most frequent pair.
#include "data/sentence_pieces.h"

namespace tapemeasure {

std::unique_ptr<TokenizerLearner> make_bpe_learner(const TokenizerOptions& options) {
  return make_piece_learner("bpe", options);
}

std::unique_ptr<Tokenizer> load_bpe_tokenizer(const std::string& description) {
  return load_piece_tokenizer("bpe", description);
}

}  // namespace tapemeasure
