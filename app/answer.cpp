// SPDX-License-Identifier: MIT
#include "app/answer.h"

#include <algorithm>
#include <cmath>

#include "app/beam_search.h"
#include "app/generator.h"
#include "core/error.h"
#include "core/host.h"

namespace tapemeasure {

namespace {

/// Logits over what can be predicted, behind each of some rows of one sequence.
std::vector<std::vector<double>> logits_of(const Model& model, Run& run, const Variable& hidden_BTD,
                                           const std::vector<int64_t>& rows) {
  const int64_t width = hidden_BTD.shape()[2];
  std::vector<std::vector<double>> all;
  for (const int64_t row : rows) {
    const Tensor one = hidden_BTD.value().sequence_rows(0, row, 1).reshaped({1, 1, width});
    all.push_back(to_doubles(model.network->logits(run, Variable(one)).value()));
    all.back().resize(static_cast<size_t>(model.predicted()));
  }
  return all;
}

std::vector<Guess> likeliest(const std::vector<double>& logits, size_t count) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  std::vector<Guess> guesses;
  for (const double logit : logits) {
    const double share = std::exp(logit - largest);
    guesses.push_back({static_cast<int32_t>(guesses.size()), share});
    total += share;
  }
  for (Guess& guess : guesses) guess.probability /= total;
  // Ties go to the lower id.
  std::stable_sort(guesses.begin(), guesses.end(),
                   [](const Guess& a, const Guess& b) { return a.probability > b.probability; });
  guesses.resize(std::min(count, guesses.size()));
  return guesses;
}

Tensor sequence(const Model& model, const std::vector<int32_t>& tokens) {
  return to_tensor(*model.backend, {1, static_cast<int64_t>(tokens.size())}, tokens);
}

void check_length(const Model& model, size_t length) {
  const auto longest = model.network->longest();
  check<ConfigError>(!longest || static_cast<int64_t>(length) <= *longest,
                     "{} tokens are beyond the {} positions that this model has learned", length,
                     longest.value_or(0));
}

}  // namespace

int32_t special_id(const Model& model, std::string_view name) {
  const auto& names = model.specials.names;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return -1;
  return static_cast<int32_t>(model.tokenizer->vocabulary() + (found - names.begin()));
}

std::string text_of(const Model& model, int32_t id) {
  const int64_t special = id - model.tokenizer->vocabulary();
  return special < 0 ? model.tokenizer->bytes_of(id)
                     : model.specials.names.at(static_cast<size_t>(special));
}

std::vector<int32_t> encode_with_specials(const Model& model, std::string_view text,
                                          const std::string& origin) {
  std::vector<int32_t> ids;
  while (!text.empty()) {
    size_t at = text.size();
    const std::string* first = nullptr;
    for (const std::string& name : model.specials.names) {
      const size_t found = text.find(name);
      if (found < at) {
        at = found;
        first = &name;
      }
    }
    model.tokenizer->encode(text.substr(0, at), origin, ids);
    if (first == nullptr) break;
    ids.push_back(special_id(model, *first));
    text.remove_prefix(at + first->size());
  }
  return ids;
}

std::vector<std::vector<Guess>> fill_masks(const Model& model, const std::vector<int32_t>& tokens,
                                           size_t count) {
  check_length(model, tokens.size());
  const int32_t mask = special_id(model, "[MASK]");
  std::vector<int64_t> rows;
  for (size_t t = 0; t < tokens.size(); ++t) {
    if (tokens[t] == mask) rows.push_back(static_cast<int64_t>(t));
  }
  Tape tape(false);
  Run run(tape);
  const Variable hidden = model.network->hidden(run, {.tokens_BT = sequence(model, tokens)});
  std::vector<std::vector<Guess>> all;
  for (const auto& logits : logits_of(model, run, hidden, rows)) {
    all.push_back(likeliest(logits, count));
  }
  return all;
}

namespace {

/// What the decoder and the encoder read before the first token of an answer.
struct Question {
  std::vector<int32_t> prompt, source;
};

Question question_of(const Model& model, const std::vector<int32_t>& source) {
  Question question{{special_id(model, "[START]")}, {}};
  if (model.network->options().kind == ModelKind::kEncoderDecoder) {
    question.source = source;
    question.source.push_back(special_id(model, "[END]"));
    check_length(model, question.source.size());
  } else {
    question.prompt.insert(question.prompt.begin(), source.begin(), source.end());
  }
  check_length(model, question.prompt.size());
  return question;
}

void answer_greedily(const Model& model, const Question& question, int64_t most,
                     const std::function<void(int32_t)>& token) {
  const int32_t end = special_id(model, "[END]");
  Continuation continuation(model, 1, static_cast<int64_t>(question.prompt.size()) + most);
  if (!question.source.empty()) continuation.read({question.source});
  std::vector<int32_t> next = question.prompt;
  for (int64_t n = 0; n < most; ++n) {
    std::vector<double> logits = continuation.feed({next})[0];
    logits.resize(static_cast<size_t>(model.predicted()));
    next = {likeliest(logits, 1)[0].token};
    if (next[0] == end) return;
    token(next[0]);
  }
}

}  // namespace

void answer(const Model& model, const std::vector<int32_t>& source, const AnswerOptions& options,
            const std::function<void(int32_t)>& token) {
  const Question question = question_of(model, source);
  int64_t most = options.tokens;
  if (const auto longest = model.network->longest()) {
    most = std::min(most, *longest - static_cast<int64_t>(question.prompt.size()) + 1);
  }
  if (most <= 0) return;
  if (options.beam == 1) {
    answer_greedily(model, question, most, token);
    return;
  }
  const int32_t end = special_id(model, "[END]");
  const std::vector<Hypothesis> found = beam_search(model, question.prompt, question.source,
                                                    {.width = options.beam,
                                                     .length_penalty = options.length_penalty,
                                                     .end = end,
                                                     .tokens = most});
  for (const int32_t id : found.at(0).tokens) {
    if (id != end) token(id);
  }
}

Bleu answers_bleu(const Model& model, const PairSpan& pairs, const AnswerOptions& options) {
  std::vector<std::string> hypotheses, references;
  for (int64_t line = 0; line < pairs.size(); ++line) {
    const auto source = (*pairs.source)[line], target = (*pairs.target)[line];
    std::vector<int32_t> said;
    answer(model, {source.begin(), source.end()}, options,
           [&](int32_t token) { said.push_back(token); });
    hypotheses.push_back(model.tokenizer->decode(said));
    references.push_back(model.tokenizer->decode(target));
  }
  return bleu(hypotheses, {references});
}

}  // namespace tapemeasure
