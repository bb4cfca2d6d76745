// SPDX-License-Identifier: MIT
#include "app/explain.h"

#include <algorithm>

#include "app/costs.h"
#include "core/config/node.h"
#include "core/error.h"
#include "layers/language_model.h"

namespace tapemeasure {

namespace {

bool learns_pieces(const DataOptions& data) {
  return data.tokenizer == "bpe" || data.tokenizer == "unigram";
}

/// What decides the vocabulary before any text is read, or "".
std::string known_tokenizer(const Experiment& experiment) {
  if (experiment.objective.options->tokenizer()) return "objective " + experiment.objective.kind;
  const DataOptions& data = experiment.data;
  return data.tokenizer == "byte" || learns_pieces(data) ? "tokenizer " + data.tokenizer : "";
}

}  // namespace

int64_t likely_vocabulary(const Experiment& experiment) {
  const auto own = experiment.objective.options->tokenizer();
  const DataOptions& data = experiment.data;
  int64_t tokens = own ? own->vocabulary() : data.vocabulary.value_or(256);
  if (learns_pieces(data)) tokens = data.vocabulary.value_or(kDefaultPieces);
  // Some words for the last bin.
  const auto& cutoffs = experiment.model.adaptive_softmax.cutoffs;
  if (!cutoffs.empty()) tokens = std::max(tokens, 2 * cutoffs.back());
  return tokens + experiment.objective.options->specials(experiment.setting(tokens)).count();
}

std::string explain_config(const Config& config) {
  Experiment experiment = read_experiment(config);
  const bool guessed = !experiment.model.vocabulary;
  const std::string known = known_tokenizer(experiment);
  if (guessed) experiment.model.vocabulary = likely_vocabulary(experiment);
  std::string text;
  for (const ConfigValue& value : list_values(config, [&](Fields& f) { experiment.visit(f); })) {
    const bool assumed = guessed && value.key == "model.vocabulary";
    text += fmt::format("{:<32} {:<24} {}\n", value.key, value.value,
                        !assumed        ? value.origin
                        : known.empty() ? "assumed: the text decides; try --set model.vocabulary=N"
                                        : known);
  }
  const Costs costs = costs_of(experiment);
  text += "\nparameters\n";
  for (const auto& [part, count] : costs.parts) {
    text += fmt::format("  {:<30} {:>12}\n", part, count);
  }
  text += fmt::format("  {:<30} {:>12}\n\n", "all", costs.parameters);
  const bool crosses = experiment.model.kind == ModelKind::kEncoderDecoder;
  text += fmt::format("FLOPs per token (training)       {:.4g}{}{}\n", costs.flops_per_token,
                      crosses ? ", with a source as long as the target" : "",
                      experiment.model.adaptive_softmax.active()
                          ? ", bins asked for as often as Zipf's law has it"
                          : "");
  text += fmt::format("memory: weights, gradients, optimizer {}, activations about {}\n",
                      bytes_text(costs.state_bytes), bytes_text(costs.activation_bytes));
  text += fmt::format("checkpoint                       {}\n", bytes_text(costs.checkpoint_bytes));
  text +=
      fmt::format("a step                           {} sequences of {} tokens, {} at once\n",
                  experiment.sequences(), experiment.model.context, experiment.micro_sequences());
  return text;
}

namespace {

std::string describe(const ConfigKey& key) {
  std::string text = key.key + (key.kind.empty() ? "" : "  (" + key.kind + ")") + "\n";
  text += "  " + key.help + "\n";
  text += "  " + key.type + (key.unit.empty() ? "" : ", in " + key.unit);
  if (!key.range.empty()) text += ", " + key.range;
  return text + "; default: " + key.value + "\n";
}

}  // namespace

std::string explain_key(const std::string& key) {
  Experiment experiment;
  const std::vector<ConfigKey> keys = list_keys([&](Fields& f) { experiment.visit(f); });
  std::string text;
  std::vector<std::string> names;
  for (const ConfigKey& candidate : keys) {
    names.push_back(candidate.key);
    const bool below = candidate.key.starts_with(key + ".");
    if (key.empty() || candidate.key == key || below) text += describe(candidate);
  }
  const std::string guess = nearest(key, names);
  check<ConfigError>(!text.empty(), "there is no key '{}'{}", printable(key),
                     guess.empty() ? "" : " (did you mean '" + guess + "'?)");
  return text;
}

}  // namespace tapemeasure
