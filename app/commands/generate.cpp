// SPDX-License-Identifier: MIT
#include <algorithm>

#include "app/answer.h"
#include "app/commands/commands.h"
#include "app/commands/numbers.h"
#include "app/generator.h"
#include "app/saved_model.h"
#include "core/config/node.h"
#include "core/error.h"
#include "core/log.h"

namespace tapemeasure {

namespace {

struct GenerateArguments {
  std::string model, prompt, mask, source;
  SamplingOptions sampling;
  AnswerOptions answer;
  std::optional<int64_t> window;
  bool greedy = false;
};

/// At once, so that one sees the text grow. Whoever reads it may have seen enough: then there is no
/// point in going on.
void say(const std::string& bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  flush_output();
}

/// What the model goes on from is not what was written then.
void warn_unknown(const Tokenizer& tokenizer, const std::vector<int32_t>& tokens,
                  const char* origin, Log& log) {
  const auto id = tokenizer.unknown();
  const auto unknown = id ? std::count(tokens.begin(), tokens.end(), *id) : 0;
  if (unknown == 0) return;
  log.warn("{} of {} tokens of {} are not in the vocabulary: the model reads {} for them", unknown,
           tokens.size(), origin, tokenizer.bytes_of(*id));
}

/// The likeliest tokens for each hidden one.
void fill(const Model& model, const std::string& text, Log& log) {
  constexpr size_t kGuesses = 5;
  const std::vector<int32_t> tokens = encode_with_specials(model, text, "--mask");
  warn_unknown(*model.tokenizer, tokens, "--mask", log);
  const auto all = fill_masks(model, tokens, kGuesses);
  check<ConfigError>(!all.empty(), "--mask: there is no [MASK] in the text");
  size_t number = 0;
  for (const std::vector<Guess>& guesses : all) {
    fmt::print("[MASK] {}:", ++number);
    for (const Guess& guess : guesses) {
      fmt::print("  '{}' {:.4f}", printable(text_of(model, guess.token)), guess.probability);
    }
    fmt::print("\n");
  }
}

/// That the one thing that is given is what such a model goes on from.
void check_input(const GenerateArguments& arguments, const SavedModel& saved) {
  const bool encoder = saved.experiment.model.kind == ModelKind::kEncoder;
  const bool answers = special_id(*saved.model, "[START]") >= 0;
  const bool crosses = saved.experiment.model.kind == ModelKind::kEncoderDecoder;
  const std::string wanted = encoder ? "--mask" : crosses ? "--source" : "--prompt";
  const std::string given = !arguments.mask.empty()     ? "--mask"
                            : !arguments.source.empty() ? "--source"
                                                        : "--prompt";
  check<ConfigError>(given == wanted || (given == "--source" && answers),
                     "{} is not what this model goes on from: give {}", given,
                     answers && !crosses ? "--source or --prompt" : wanted);
  check<ConfigError>(arguments.window.value_or(0) == 0 || !saved.model->has_prefix,
                     "--window {} would forget parts of the prompt, which a model of "
                     "objective.kind {} sees both ways: leave it out",
                     arguments.window.value_or(0), saved.experiment.objective.kind);
}

/// What is said of a model that does not sample.
bool told(const GenerateArguments& arguments, const SavedModel& saved, Log& log) {
  const Model& model = *saved.model;
  check_input(arguments, saved);
  if (!arguments.mask.empty()) {
    fill(model, arguments.mask, log);
    return true;
  }
  if (arguments.source.empty()) return false;
  AnswerOptions options = arguments.answer;
  options.tokens = arguments.sampling.tokens;
  const std::vector<int32_t> source = encode_with_specials(model, arguments.source, "--source");
  warn_unknown(*model.tokenizer, source, "--source", log);
  answer(model, source, options, [&](int32_t token) { say(text_of(model, token)); });
  say("\n");
  return true;
}

int run(GenerateArguments arguments) {
  SamplingOptions& sampling = arguments.sampling;
  if (arguments.greedy) sampling.temperature = 0;
  check<ConfigError>(
      !arguments.prompt.empty() || !arguments.mask.empty() || !arguments.source.empty(),
      "the prompt is empty: give --prompt, --mask or --source at least one character");
  const SavedModel saved = load_model(arguments.model, {});
  Log log;
  if (told(arguments, saved, log)) return 0;
  std::vector<int32_t> prompt;
  saved.model->tokenizer->encode(arguments.prompt, "the prompt", prompt);
  check<ConfigError>(!prompt.empty(), "the prompt is empty: give --prompt at least one token");
  log.info("{} at step {}{}", saved.path, saved.step,
           saved.best_step > 0 ? fmt::format(", validation loss {:.4f}", saved.best_loss) : "");
  warn_unknown(*saved.model->tokenizer, prompt, "the prompt", log);
  const ModelOptions& model = saved.experiment.model;
  // As far as training could look back.
  const int64_t seen = model.memory > 0 ? model.memory + model.context : 0;
  sampling.window = arguments.window.value_or(seen);
  const auto longest = saved.model->network->longest();
  const int64_t total = static_cast<int64_t>(prompt.size()) + sampling.tokens - 1;
  if (longest && total > *longest) {
    log.warn(
        "{} tokens are more than the {} positions that were learned: the last half of the "
        "position table is used again beyond them",
        total, *longest);
  }
  say(arguments.prompt);
  if (sampling.tokens > 0) say(saved.model->tokenizer->gap_behind(arguments.prompt));
  generate(*saved.model, prompt, sampling,
           [&](int32_t token) { say(saved.model->tokenizer->bytes_of(token)); });
  say("\n");
  return 0;
}

}  // namespace

void add_generate(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("generate", "Continue a prompt, guess masked tokens, answer a source");
  auto a = std::make_shared<GenerateArguments>();
  verb->add_option("model", a->model, "run directory (its best checkpoint) or checkpoint")
      ->required();
  auto* prompt = verb->add_option("--prompt", a->prompt, "decoders: text to continue");
  auto* mask =
      verb->add_option("--mask", a->mask, "encoders: a text in which each [MASK] is to be guessed")
          ->excludes(prompt);
  auto* source =
      verb->add_option("--source", a->source,
                       "encoder_decoders, and decoders trained on a task: what is to be answered")
          ->excludes(prompt)
          ->excludes(mask);
  verb->add_option("--beam", a->answer.beam, "hypotheses that a beam search keeps; 1: greedy")
      ->check(whole_number_between(1, 1024))
      ->needs(source)
      ->capture_default_str();
  verb->add_option("--length-penalty", a->answer.length_penalty,
                   "a beam's answers of n tokens score log-probability / n^this")
      ->check(number_between(0, 100))
      ->needs(source)
      ->capture_default_str();
  verb->add_option("--tokens", a->sampling.tokens, "new tokens")
      ->check(whole_number_between(0, int64_t{1} << 32))
      ->capture_default_str();
  verb->add_option("--seed", a->sampling.seed, "same seed, same text")
      ->check(whole_number_between(0, INT64_MAX))
      ->capture_default_str();
  auto* temperature = verb->add_option("--temperature", a->sampling.temperature,
                                       "below 1: likelier tokens; 0: greedy")
                          ->check(number_between(0, 1e6))
                          ->capture_default_str();
  verb->add_option("--top-k", a->sampling.top_k, "only the k most likely tokens; 0: all")
      ->check(whole_number_between(0, INT64_MAX))
      ->capture_default_str();
  verb->add_option("--top-p", a->sampling.top_p, "only the likeliest that reach this share")
      ->check(number_between(0, 1))
      ->capture_default_str();
  verb->add_option("--window", a->window,
                   "keys to keep, the newest; 0: all [0; of models with memory: model.memory + "
                   "model.context]")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 24));
  verb->add_flag("--greedy", a->greedy, "always the most likely token")->excludes(temperature);
  verb->callback([a, &action] { action = [a] { return run(*a); }; });
}

}  // namespace tapemeasure
