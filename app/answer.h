// SPDX-License-Identifier: MIT
// What models other than plain language models say: an encoder's guesses for hidden tokens, and the
// likeliest answer to a source.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/bleu.h"
#include "app/learner.h"

namespace tapemeasure {

/// The ids of a text in which special tokens are written by their names ("the [MASK] sat"). Throws
/// DataError as the tokenizer does.
std::vector<int32_t> encode_with_specials(const Model& model, std::string_view text,
                                          const std::string& origin);
/// The bytes of a token, or the name of a special one.
std::string text_of(const Model& model, int32_t id);
/// The id of a special token, or -1.
int32_t special_id(const Model& model, std::string_view name);

struct Guess {
  int32_t token;
  double probability;
};
/// The `count` likeliest tokens for each [MASK] of `tokens`, likeliest first. REQUIRES: an encoder.
std::vector<std::vector<Guess>> fill_masks(const Model& model, const std::vector<int32_t>& tokens,
                                           size_t count);

struct AnswerOptions {
  int64_t tokens = 200;       ///< most of an answer
  int64_t beam = 1;           ///< hypotheses that are kept; 1: the likeliest token again and again
  double length_penalty = 1;  ///< as BeamOptions has it
};
/// The likeliest answer to a source, without its [END]; `token` is called with each token, of a
/// beam once all are known. REQUIRES: a model with [START] and [END].
void answer(const Model& model, const std::vector<int32_t>& source, const AnswerOptions& options,
            const std::function<void(int32_t)>& token);

/// BLEU of the answers to the sources of translations.
Bleu answers_bleu(const Model& model, const PairSpan& pairs, const AnswerOptions& options);

}  // namespace tapemeasure
