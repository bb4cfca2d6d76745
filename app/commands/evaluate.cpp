// SPDX-License-Identifier: MIT
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/answer.h"
#include "app/commands/commands.h"
#include "app/commands/numbers.h"
#include "app/part_evaluation.h"
#include "app/results.h"
#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/hdf5_file.h"

namespace tapemeasure {

namespace {

struct EvaluateArguments {
  std::string model, split, text, per_token, protocol;
  std::string cache = default_cache();
  std::vector<std::string> sets;
  std::vector<int64_t> lengths;
  bool json = false, bleu = false;
  AnswerOptions answer;
};

/// The tokens of one file under the model's tokenizer, in memory.
struct OwnText {
  std::vector<uint32_t> ids;
  EvaluationText text;

  OwnText(const std::string& path, const Tokenizer& tokenizer, LineEnds line_ends) {
    const std::string raw = read_file(path);
    const std::string bytes = line_ends == LineEnds::kLf ? with_lf(raw) : raw;
    std::vector<int32_t> tokens;
    tokenizer.encode(bytes, path, tokens);
    ids.assign(tokens.begin(), tokens.end());
    text = {TokenSpan(ids.data(), 4, static_cast<int64_t>(ids.size()), tokenizer.vocabulary()),
            count_characters(bytes), count_words(bytes), static_cast<int64_t>(bytes.size()), path};
  }
};

/// Collects and writes the loss of every target: "losses", and "before", the tokens of context it
/// had.
struct PerToken {
  std::vector<double> losses;
  std::vector<int32_t> before;

  void write(const std::string& path, const EvaluationText& text, const Evaluation& result) const {
    Hdf5Writer file("tapemeasure-losses 1");
    const int64_t count = static_cast<int64_t>(losses.size());
    std::vector<int32_t> targets(losses.size());
    text.tokens.copy(1, count, targets.data());
    file.array("losses", ElementType::kF64, std::span(&count, 1), losses.data());
    file.array("before", ElementType::kI32, std::span(&count, 1), before.data());
    file.array("targets", ElementType::kI32, std::span(&count, 1), targets.data());
    file.text("evaluation", evaluation_json(result));
    file.write(path);
  }
};

void print_table(const std::vector<Evaluation>& results) {
  fmt::print("{:<20} {:>7} {:>10} {:>11} {:>10} {:>10} {:>10} {:>10}\n", "protocol", "length",
             "nats/token", "perplexity", "bits/token", "bits/char", "bits/byte", "bits/word");
  for (const Evaluation& e : results) {
    fmt::print("{:<20} {:>7} {:>10.4f} {:>11.4f} {:>10.4f} {:>10.4f} {:>10.4f} {:>10.4f}\n",
               e.protocol.name(), e.protocol.length, e.loss(), e.perplexity(), e.bits_per_token(),
               e.bits_per_character(), e.bits_per_byte(), e.bits_per_word());
  }
  const Evaluation& e = results.front();
  fmt::print("over {} tokens, {} characters, {} bytes, {} words, each target scored once\n",
             e.tokens, e.characters, e.bytes, e.words);
  fmt::print("perplexity per word:");
  for (const Evaluation& each : results) fmt::print(" {:.4f}", each.word_perplexity());
  fmt::print("; per token it compares only between models of one tokenizer\n");
}

/// Below the table: what a token costs by its position in the window, a column per length.
void print_positions(const std::vector<Evaluation>& results) {
  const auto longest = std::max_element(results.begin(), results.end(),
                                        [](const Evaluation& a, const Evaluation& b) {
                                          return a.positions.back().last < b.positions.back().last;
                                        });
  fmt::print("\nnats/token (tokens) by position\n{:<14}", "length");
  for (const Evaluation& e : results) fmt::print(" {:>19}", e.protocol.length);
  for (size_t row = 0; row < longest->positions.size(); ++row) {
    const int64_t first = longest->positions[row].first;
    fmt::print("\n{:<14}", fmt::format("{}-{}", first, row == 0 ? 15 : 2 * first - 1));
    for (const Evaluation& e : results) {
      const bool any = row < e.positions.size() && e.positions[row].tokens > 0;
      const std::string cell =
          any ? fmt::format("{:.4f} ({})", e.positions[row].loss(), e.positions[row].tokens) : "-";
      fmt::print(" {:>19}", cell);
    }
  }
  fmt::print("\n");
}

void print_json(const EvaluateArguments& arguments, const SavedModel& saved,
                const std::string& origin, const std::vector<Evaluation>& results,
                const std::optional<Bleu>& bleu) {
  nlohmann::ordered_json root = {
      {"checkpoint", saved.path}, {"step", saved.step}, {"text", origin}, {"set", arguments.sets}};
  for (const Evaluation& result : results) {
    root["evaluations"].push_back(nlohmann::ordered_json::parse(evaluation_json(result)));
  }
  if (bleu) root["bleu"] = bleu->score;
  fmt::print("{}\n", root.dump(2));
}

std::vector<Evaluation> evaluate_by_protocol(const EvaluateArguments& arguments,
                                             const SavedModel& saved, const EvaluationText& text) {
  std::vector<int64_t> lengths = arguments.lengths;
  if (lengths.empty()) lengths.push_back(saved.experiment.model.context);
  check<ConfigError>(arguments.per_token.empty() || lengths.size() == 1,
                     "--per-token wants one length, got {}", lengths.size());
  std::vector<Evaluation> results;
  for (const int64_t length : lengths) {
    const Protocol protocol = arguments.protocol.empty()
                                  ? Protocol::of(saved.experiment.model, length)
                                  : Protocol::parse(arguments.protocol, length);
    PerToken per_token;
    const auto collect = [&](double loss, int64_t before) {
      per_token.losses.push_back(loss);
      per_token.before.push_back(static_cast<int32_t>(before));
    };
    const bool wanted = !arguments.per_token.empty();
    results.push_back(evaluate_text(saved, text, protocol,
                                    wanted ? collect : std::function<void(double, int64_t)>()));
    if (wanted) per_token.write(arguments.per_token, text, results.back());
  }
  return results;
}

/// What is evaluated: a part of what the model was trained on or of a token file, or a whole text
/// in memory.
struct Source : EvaluationPart {
  std::optional<Corpus> corpus;
  std::optional<OwnText> own;

  Source(const EvaluateArguments& arguments, const SavedModel& saved) {
    const bool prepared = arguments.text.ends_with(".h5");
    check<ConfigError>(arguments.text.empty() || prepared || arguments.split.empty(),
                       "--split goes with the training text or a prepared .h5; {} is evaluated as "
                       "a whole",
                       arguments.text);
    if (!arguments.text.empty() && !prepared) {
      own.emplace(arguments.text, *saved.model->tokenizer, saved.experiment.data.newline);
      text = own->text;
      part = {text.tokens, {}, text.origin};
      return;
    }
    if (prepared) {
      corpus.emplace(TokenFile(arguments.text));
      check_tokenizer(*corpus->tokenizer, corpus->path(), *saved.model->tokenizer);
    } else {
      corpus.emplace(training_corpus(saved, arguments.cache));
    }
    const Split split = arguments.split == "test" ? Split::kTest : Split::kValid;
    static_cast<EvaluationPart&>(*this) = evaluation_part(*corpus, split);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
};

/// Of objectives that no protocol goes with: a row for each length.
std::vector<Evaluation> evaluate_by_length(const EvaluateArguments& arguments,
                                           const SavedModel& saved, const Part& part) {
  check<ConfigError>(arguments.protocol.empty() && arguments.per_token.empty(),
                     "{} goes with objective.kind causal, this model's is {}",
                     arguments.protocol.empty() ? "--per-token" : "--protocol",
                     saved.experiment.objective.kind);
  std::vector<std::optional<int64_t>> lengths(arguments.lengths.begin(), arguments.lengths.end());
  if (lengths.empty()) lengths.push_back(std::nullopt);
  std::vector<Evaluation> results;
  for (const std::optional<int64_t> length : lengths) {
    results.push_back(evaluate_strings(saved, part, length));
  }
  return results;
}

void print_objectives(const std::vector<Evaluation>& results) {
  const Evaluation& first = results.front();
  fmt::print("objective {}, nats per {}\n", first.objective, first.unit);
  fmt::print("{:>10} {:>10} {:>10} {:>13} {:>10}\n", "length", "nats", "targets", "exact match",
             "answers");
  for (const Evaluation& e : results) {
    const int64_t length = e.protocol.length;
    fmt::print("{:>10} {:>10.4f} {:>10} {:>13} {:>10}\n",
               length > 0 ? std::to_string(length) : "as trained", e.loss(), e.tokens,
               e.answers > 0 ? fmt::format("{:.2f} %", 100 * e.exact_match()) : "-", e.answers);
  }
}

/// Lengths are multiplied with others on the way: what no machine could hold stops here.
void check_lengths(const EvaluateArguments& arguments) {
  constexpr int64_t kLongest = 1 << 24;
  for (const int64_t length : arguments.lengths) {
    check<ConfigError>(length >= 1 && length <= kLongest,
                       "--lengths wants numbers from 1 to {}, got {}", kLongest, length);
  }
}

/// The score of whole answers, where it is asked for.
std::optional<Bleu> bleu_of(const EvaluateArguments& arguments, const SavedModel& saved,
                            const Source& source) {
  if (!arguments.bleu) return std::nullopt;
  check<ConfigError>(saved.experiment.objective.options->material() == Material::kPairs,
                     "--bleu compares translations: it goes with objective.kind translation, this "
                     "model's is {}",
                     saved.experiment.objective.kind);
  AnswerOptions options = arguments.answer;
  options.tokens = saved.experiment.model.context;
  return answers_bleu(*saved.model, source.part.pairs, options);
}

void print_bleu(const Bleu& bleu, int64_t beam) {
  fmt::print("BLEU {:.2f} ({:.1f}/{:.1f}/{:.1f}/{:.1f}, brevity penalty {:.3f}), 13a, beam {}\n",
             bleu.score, bleu.precisions[0], bleu.precisions[1], bleu.precisions[2],
             bleu.precisions[3], bleu.brevity_penalty, beam);
}

int run(const EvaluateArguments& arguments) {
  check_lengths(arguments);
  const SavedModel saved = load_model(arguments.model, arguments.sets);
  const Material material = saved.experiment.objective.options->material();
  check<ConfigError>(arguments.text.empty() || material == Material::kText,
                     "--text goes with objectives that read a text, not with {}",
                     saved.experiment.objective.kind);
  const Source source(arguments, saved);
  const std::optional<Bleu> bleu = bleu_of(arguments, saved, source);
  const bool by_protocol = has_protocol(saved);
  const std::vector<Evaluation> results = by_protocol
                                              ? evaluate_by_protocol(arguments, saved, source.text)
                                              : evaluate_by_length(arguments, saved, source.part);
  const std::string& origin = source.part.origin;
  if (arguments.json) {
    print_json(arguments, saved, origin, results, bleu);
    return 0;
  }
  fmt::print("{} at step {}{}\n", saved.path, saved.step, origin.empty() ? "" : " on " + origin);
  for (const std::string& assignment : arguments.sets) fmt::print("with {}\n", assignment);
  if (by_protocol) {
    print_table(results);
    print_positions(results);
  } else {
    print_objectives(results);
  }
  if (bleu) print_bleu(*bleu, arguments.answer.beam);
  return 0;
}

}  // namespace

void add_evaluate(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("evaluate", "Measure a model on a text");
  auto a = std::make_shared<EvaluateArguments>();
  verb->add_option("model", a->model, "run directory (its best checkpoint) or checkpoint")
      ->required();
  verb->add_option("--split", a->split, "part of the training text: valid or test [valid]")
      ->check(CLI::IsMember({"valid", "test"}));
  verb->add_option("--text", a->text, "a text of your own instead, or a prepared .h5");
  verb->add_option("--lengths", a->lengths,
                   "of windows, or of a task's strings, as in 64,128,256 [as trained]")
      ->delimiter(',')
      ->check(whole_number_between(1, INT64_MAX));
  verb->add_option("--protocol", a->protocol,
                   "nonoverlap, sliding:stride=N or memory:N [nonoverlap; of models with memory: "
                   "memory:MODEL.MEMORY]");
  verb->add_option("--per-token", a->per_token, "HDF5 file for the loss of every target");
  verb->add_option("--set", a->sets, "KEY=VALUE of keys that change no parameter");
  auto* bleu =
      verb->add_flag("--bleu", a->bleu, "translations: BLEU (13a) of whole answers as well");
  verb->add_option("--beam", a->answer.beam, "hypotheses that a beam search keeps; 1: greedy")
      ->check(whole_number_between(1, 1024))
      ->needs(bleu)
      ->capture_default_str();
  verb->add_flag("--json", a->json, "print JSON");
  verb->add_option("--cache", a->cache, "where prepared texts are kept")->capture_default_str();
  verb->callback([a, &action] { action = [a] { return run(*a); }; });
}

}  // namespace tapemeasure
