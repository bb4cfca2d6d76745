// SPDX-License-Identifier: MIT
#include "app/ablation/measuring.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "app/answer.h"
#include "app/part_evaluation.h"
#include "core/error.h"

namespace tapemeasure {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Some of a text's tokens, in memory. What it is divided by is not known and stays 0.
struct Excerpt {
  std::vector<uint32_t> ids;
  EvaluationText text;

  Excerpt(const EvaluationText& whole, int64_t first, int64_t count, int64_t vocabulary)
      : ids(static_cast<size_t>(count)) {
    whole.tokens.copy(first, count, reinterpret_cast<int32_t*>(ids.data()));
    text.tokens = TokenSpan(ids.data(), 4, count, vocabulary);
    text.origin = whole.origin;
  }
  Excerpt(const Excerpt&) = delete;
  Excerpt& operator=(const Excerpt&) = delete;
};

/// What a model is measured with: the length of windows is the model's where none is asked for.
Protocol protocol_of(const SavedModel& saved, const Measure& measure) {
  return Protocol::parse(measure.protocol.empty() ? "nonoverlap" : measure.protocol,
                         measure.length.value_or(saved.experiment.model.context));
}

Evaluation evaluate_split(const SavedModel& saved, const Corpus& corpus, const Measure& measure,
                          Split split) {
  const EvaluationPart part = evaluation_part(corpus, split);
  return has_protocol(saved) ? evaluate_text(saved, part.text, protocol_of(saved, measure))
                             : evaluate_strings(saved, part.part, measure.length);
}

double read_off(const Evaluation& evaluation, Quantity quantity) {
  switch (quantity) {
    case Quantity::kBitsPerCharacter:
      return evaluation.bits_per_character();
    case Quantity::kBitsPerByte:
      return evaluation.bits_per_byte();
    case Quantity::kBitsPerToken:
      return evaluation.bits_per_token();
    case Quantity::kLoss:
      return evaluation.loss();
    case Quantity::kPerplexity:
      return evaluation.perplexity();
    case Quantity::kWordPerplexity:
      return evaluation.word_perplexity();
    case Quantity::kExactMatch:
      return evaluation.exact_match();
    case Quantity::kBleu:
    case Quantity::kTokensPerSecond:
    case Quantity::kEffectiveContext:
      break;
  }
  throw Error("a quantity that no single evaluation gives");
}

/// Refuses quantities that the evaluation has nothing to divide by.
void check_quantity(const Evaluation& evaluation, const Measure& measure) {
  const bool of_text = measure.quantity == Quantity::kBitsPerCharacter ||
                       measure.quantity == Quantity::kBitsPerByte ||
                       measure.quantity == Quantity::kWordPerplexity;
  check<ConfigError>(!of_text || evaluation.bytes > 0,
                     "{}: measure '{}': {} go with objective.kind causal, this model's is {}",
                     measure.place, measure.name, unit_of(measure.quantity), evaluation.objective);
  check<ConfigError>(measure.quantity != Quantity::kExactMatch || evaluation.answers > 0,
                     "{}: measure '{}': objective {} has no answers that could match",
                     measure.place, measure.name, evaluation.objective);
}

double finite(double value, const Measure& measure) {
  check<NonFiniteError>(std::isfinite(value), "measure '{}' is not finite", measure.name);
  return value;
}

Measured measure_bleu(const SavedModel& saved, const Corpus& corpus, const Measure& measure) {
  check<ConfigError>(saved.experiment.objective.options->material() == Material::kPairs,
                     "{}: measure '{}': BLEU goes with objective.kind translation, this model's is "
                     "{}",
                     measure.place, measure.name, saved.experiment.objective.kind);
  const PairSpan pairs = corpus.part(measure.split).pairs;
  const AnswerOptions options{saved.experiment.model.context, measure.beam, measure.length_penalty};
  Measured measured;
  measured.value = finite(answers_bleu(*saved.model, pairs, options).score, measure);
  measured.tokens = pairs.size();
  return measured;
}

Measured measure_value(const SavedModel& saved, const Corpus& corpus, const Measure& measure,
                       bool on_valid) {
  const Evaluation evaluation = evaluate_split(saved, corpus, measure, measure.split);
  check_quantity(evaluation, measure);
  Measured measured;
  measured.value = finite(read_off(evaluation, measure.quantity), measure);
  measured.tokens = evaluation.tokens;
  if (on_valid) {
    measured.on_valid = measure.split == Split::kValid
                            ? measured.value
                            : finite(read_off(evaluate_split(saved, corpus, measure, Split::kValid),
                                              measure.quantity),
                                     measure);
  }
  return measured;
}

/// So that no first touch of memory and no choice of kernels is timed.
void warm_up(const SavedModel& saved, const EvaluationText& text, const Protocol& protocol) {
  constexpr int64_t kWindows = 4;
  const int64_t count = std::min(text.tokens.size(), kWindows * protocol.length + 1);
  const Excerpt excerpt(text, 0, count, saved.model->tokenizer->vocabulary());
  evaluate_text(saved, excerpt.text, protocol);
}

Measured measure_speed(const SavedModel& saved, const Corpus& corpus, const Measure& measure) {
  const EvaluationPart part = evaluation_part(corpus, measure.split);
  Measured measured;
  Clock::time_point start;
  if (has_protocol(saved)) {
    const int64_t all = part.text.tokens.size();
    const int64_t count = measure.targets > 0 ? std::min(all, measure.targets + 1) : all;
    const Excerpt excerpt(part.text, 0, count, saved.model->tokenizer->vocabulary());
    const Protocol protocol = protocol_of(saved, measure);
    warm_up(saved, excerpt.text, protocol);
    start = Clock::now();
    measured.tokens = evaluate_text(saved, excerpt.text, protocol).tokens;
  } else {
    evaluate_strings(saved, part.part, measure.length);
    start = Clock::now();
    measured.tokens = evaluate_strings(saved, part.part, measure.length).tokens;
  }
  measured.value = finite(static_cast<double>(measured.tokens) / seconds_since(start), measure);
  return measured;
}

/// The losses of `targets` targets from token `first` on, each behind exactly `length` tokens.
std::vector<double> losses_behind(const SavedModel& saved, const EvaluationText& text,
                                  int64_t length, int64_t first, int64_t targets) {
  const Excerpt excerpt(text, first - length, length + targets,
                        saved.model->tokenizer->vocabulary());
  std::vector<double> losses;
  evaluate_text(saved, excerpt.text, {length, 1}, [&](double loss, int64_t before) {
    // The first window also scores targets that have fewer tokens before them.
    if (before == length) losses.push_back(loss);
  });
  return losses;
}

Measured measure_context(const SavedModel& saved, const Corpus& corpus, const Measure& measure) {
  check<ConfigError>(
      has_protocol(saved), "{}: measure '{}': {} go with objective.kind causal, this model's is {}",
      measure.place, measure.name, unit_of(measure.quantity), saved.experiment.objective.kind);
  const EvaluationText text = evaluation_part(corpus, measure.split).text;
  const int64_t first = *std::max_element(measure.lengths.begin(), measure.lengths.end());
  const int64_t all = text.tokens.size() - first;
  check<DataError>(all > 0, "{}: {} tokens: measure '{}' needs more than {} before its targets",
                   text.origin, text.tokens.size(), measure.name, first);
  Measured measured;
  measured.tokens = measure.targets > 0 ? std::min(all, measure.targets) : all;
  for (const int64_t length : measure.lengths) {
    std::vector<double> losses = losses_behind(saved, text, length, first, measured.tokens);
    for (const double loss : losses) finite(loss, measure);
    measured.losses[length] = std::move(losses);
  }
  return measured;
}

}  // namespace

Measured measure_model(const SavedModel& saved, const Corpus& corpus, const Measure& measure,
                       bool on_valid) {
  const auto start = Clock::now();
  const bool of_context = measure.quantity == Quantity::kEffectiveContext;
  Measured measured = of_context                  ? measure_context(saved, corpus, measure)
                      : is_time(measure.quantity) ? measure_speed(saved, corpus, measure)
                      : measure.quantity == Quantity::kBleu
                          ? measure_bleu(saved, corpus, measure)
                          : measure_value(saved, corpus, measure, on_valid);
  measured.seconds = seconds_since(start);
  for (const TextFingerprint& text : saved.texts) measured.texts[text.path] = text.sha256;
  if (of_context) {
    measured.protocol = "sliding:stride=1";
  } else if (has_protocol(saved)) {
    const Protocol protocol = protocol_of(saved, measure);
    measured.protocol = fmt::format("{} {}", protocol.name(), protocol.length);
  }
  return measured;
}

}  // namespace tapemeasure
