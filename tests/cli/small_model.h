// SPDX-License-Identifier: MIT
// Models of a few hundred numbers, for tests of what is done with a model.
#pragma once

#include <cmath>
#include <memory>
#include <string>

#include "app/evaluator.h"
#include "app/learner.h"

namespace tapemeasure::testing {

/// "reference" in f64 unless the trainer section says otherwise.
inline Experiment small_experiment(const std::string& model, const std::string& trainer =
                                                                 "backend: reference, "
                                                                 "precision: f64") {
  return read_experiment(Config::parse("data: {text: a.txt}\nmodel: {" + model +
                                           "}\ntrainer: {threads: 1, batch_tokens: 64, " + trainer +
                                           "}\n",
                                       "small.yaml"));
}

/// Built with random weights; the vocabulary is the tokenizer's unless `model` has one.
inline std::unique_ptr<Model> small_model(Experiment experiment,
                                          std::shared_ptr<const Tokenizer> tokenizer) {
  if (!experiment.model.vocabulary) experiment.model.vocabulary = tokenizer->vocabulary();
  return std::make_unique<Model>(experiment, std::move(tokenizer));
}

/// A model whose logits are `logits`, whatever it reads.
inline std::unique_ptr<Model> constant_model(std::shared_ptr<const Tokenizer> tokenizer,
                                             const std::vector<double>& logits) {
  auto model = small_model(small_experiment("layers: 1, width: 1, heads: 1, feedforward: 1, "
                                            "context: 4, head_bias: true, position: {kind: none}"),
                           std::move(tokenizer));
  for (Parameter& parameter : model->store.all()) {
    double* values = parameter.value.data<double>();
    for (int64_t i = 0; i < parameter.value.count(); ++i) {
      values[i] = parameter.name == "head.bias" ? logits[static_cast<size_t>(i)] : 0;
    }
  }
  return model;
}

/// A text and its tokens, in memory.
struct SmallText {
  std::string bytes;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::vector<uint32_t> ids;
  EvaluationText text;

  SmallText(const std::string& kind, const std::string& its_bytes)
      : SmallText(std::shared_ptr<const Tokenizer>(make_tokenizer(kind, its_bytes, "a text")),
                  its_bytes) {}
  SmallText(std::shared_ptr<const Tokenizer> its_tokenizer, const std::string& its_bytes)
      : bytes(its_bytes), tokenizer(std::move(its_tokenizer)) {
    std::vector<int32_t> tokens;
    tokenizer->encode(bytes, "a text", tokens);
    ids.assign(tokens.begin(), tokens.end());
    text = {TokenSpan(ids.data(), 4, static_cast<int64_t>(ids.size()), tokenizer->vocabulary()),
            count_characters(bytes), count_words(bytes), static_cast<int64_t>(bytes.size()),
            "a text"};
  }
  SmallText(const SmallText&) = delete;
};

/// Letters that do not repeat themselves.
inline std::string letters(int64_t count, const std::string& alphabet = "abcdefgh \n") {
  std::string text;
  uint64_t state = 12345;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    text += alphabet[static_cast<size_t>((state >> 33) % alphabet.size())];
  }
  return text;
}

}  // namespace tapemeasure::testing
