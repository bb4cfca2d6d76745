// SPDX-License-Identifier: MIT
#include "app/answer.h"

#include <algorithm>
#include <cmath>

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

void answer(const Model& model, const std::vector<int32_t>& source, int64_t most,
            const std::function<void(int32_t)>& token) {
  const int32_t start = special_id(model, "[START]"), end = special_id(model, "[END]");
  const bool crosses = model.network->options().kind == ModelKind::kEncoderDecoder;
  std::vector<int32_t> prompt = {start}, encoded = source;
  if (crosses) {
    encoded.push_back(end);
    check_length(model, encoded.size());
  } else {
    prompt.insert(prompt.begin(), source.begin(), source.end());
  }
  if (const auto longest = model.network->longest()) {
    most = std::min(most, *longest - static_cast<int64_t>(prompt.size()) + 1);
  }
  const auto capacity = static_cast<int64_t>(prompt.size()) + most;
  Caches caches = model.network->caches(*model.backend, model.dtype, 1, capacity);
  for (int64_t n = 0; n < most; ++n) {
    Tape tape(false);
    Run run(tape);
    ModelInput input{.tokens_BT = sequence(model, prompt), .caches = &caches};
    if (crosses && n == 0) input.source_BS = sequence(model, encoded);
    const Variable hidden = model.network->hidden(run, input);
    const auto last = static_cast<int64_t>(prompt.size()) - 1;
    const int32_t next = likeliest(logits_of(model, run, hidden, {last})[0], 1)[0].token;
    if (next == end) return;
    token(next);
    prompt = {next};
  }
}

}  // namespace tapemeasure
