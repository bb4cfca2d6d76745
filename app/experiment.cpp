// SPDX-License-Identifier: MIT
#include "app/experiment.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "data/tokenizer.h"

namespace tapemeasure {

namespace {
constexpr int64_t kMany = int64_t{1} << 40;
constexpr const char* kOrders[] = {"shuffled", "lanes"};
constexpr const char* kPrecisions[] = {"f32", "f64", "bf16", "auto"};
constexpr const char* kNonfinite[] = {"stop", "skip"};

/// The only backend that a precision goes with; null: any.
const char* backend_for(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      return nullptr;
    case Precision::kF64:
      return "reference";
    case Precision::kBF16:
    case Precision::kAuto:
      return "cpu";
  }
  return nullptr;
}

/// One of a list of names, kept as text.
void name_choice(Fields& f, const char* name, std::string& value,
                 const std::vector<std::string>& names, const char* help) {
  std::vector<const char*> choices;
  int index = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    choices.push_back(names[i].c_str());
    if (names[i] == value) index = static_cast<int>(i);
  }
  f.choice(name, index, choices, help);
  value = names[static_cast<size_t>(index)];
}
}  // namespace

void DataOptions::visit(Fields& f) {
  f.texts("text", text, "the corpus: one file, a list of files, or one prepared .h5");
  f.texts("valid", valid, "files of its own for validation, of which data.text then gives nothing");
  f.texts("test", test, "files of its own for the test, of which data.text then gives nothing");
  f.text("source", source, "translation: the file whose lines are read");
  f.text("target", target, "translation: the file whose lines are to be written, line by line");
  name_choice(f, "tokenizer", tokenizer, tokenizer_kinds(), "how text becomes tokens");
  f.integer("vocabulary", vocabulary, {2, 1 << 24}, "all words for word, 8000 for bpe and unigram",
            "word: at most so many tokens; bpe, unigram: exactly so many", "tokens");
  f.integer("min_frequency", min_frequency, {1, kMany},
            "word: words that the training part has less often are <unk>");
  f.reals("split", split, {0, 1e9},
          "shares of training, validation and test, by bytes (pairs: by lines); a prepared .h5 has "
          "its own");
  f.choose(
      "newline", newline, kLineEnds,
      "raw: line ends are bytes like others; lf: CRLF and CR are read as LF (translations have "
      "lines, whatever ends them)");
  f.choose("order", order, kOrders,
           "shuffled: windows in a new order each epoch; lanes (the default with model.memory): "
           "contiguous, side by side");
}

void TrainerOptions::visit(Fields& f) {
  f.integer("steps", steps, {1, kMany}, "updates of the whole run", "steps");
  f.integer("batch_tokens", batch_tokens, {1, kMany},
            "tokens of one update, over all micro-batches; a multiple of model.context", "tokens");
  f.integer("micro_batch_tokens", micro_batch_tokens, {1, kMany}, "batch_tokens",
            "tokens in memory at once; fewer than batch_tokens: gradients accumulate", "tokens");
  f.boolean(
      "recompute", recompute,
      "keep only the inputs of blocks for the backward pass and compute the rest once more: the "
      "same bits from less memory in more time");
  f.integer("seed", seed, {0, INT64_MAX}, "decides initial weights, order of data, dropout");
  f.integer("evaluate_every", evaluate_every, {0, kMany}, "0: only at the end", "steps");
  f.integer("save_every", save_every, {0, kMany}, "0: only at the end", "steps");
  f.integer("keep", keep, {1, 1000000}, "newest checkpoints to keep, beside the best");
  f.choose(
      "precision", precision, kPrecisions,
      "f64 needs backend: reference; bf16 (cpu): matrix products read bf16, everything else is "
      "f32; auto (cpu): f32 or bf16, the faster on this machine");
  name_choice(f, "backend", backend, {"cpu", "reference", "check:cpu"},
              "check:cpu compares every kernel with the reference");
  f.integer("threads", threads, {1, 4096}, "cores that this process may use", "CPU threads");
  f.real("max_minutes", max_minutes, {0, 1e9}, "save and stop after this long; 0: never",
         "minutes");
  f.integer("patience", patience, {0, kMany},
            "stop after this many evaluations without a better one; 0: never");
  f.choose("on_nonfinite", on_nonfinite, kNonfinite,
           "what a NaN or infinite loss or gradient does: stop the run, or skip the update");
  f.integer("nonfinite_limit", nonfinite_limit, {1, kMany},
            "skipped updates in a row that stop the run all the same");
}

namespace {
Reader reader_of(ModelKind kind) { return static_cast<Reader>(kind); }
}  // namespace

ObjectiveSetting Experiment::setting(int64_t vocabulary) const {
  return {.reader = reader_of(model.kind),
          .context = model.context,
          .batch_tokens = trainer.batch_tokens,
          .vocabulary = vocabulary,
          .seed = static_cast<uint64_t>(trainer.seed),
          .order = data.order};
}

void Experiment::visit(Fields& f) {
  f.section("data", data, "what is read");
  f.section("model", model, "what is trained");
  if (!objective.options) objective.kind = default_objective(reader_of(model.kind));
  f.kind("objective", objective, objectives(),
         "what of the text is asked of the model; the default is causal for a decoder, masked for "
         "an encoder, span_corruption for an encoder_decoder");
  f.kind("optimizer", optimizer, update_rules(), "how weights change");
  f.kind("schedule", schedule, schedules(), "how the learning rate changes");
  f.section("trainer", trainer, "how long, how much at once, where");
}

namespace {

void check_batches(const Config& config, const Experiment& experiment) {
  const TrainerOptions& t = experiment.trainer;
  const int64_t context = experiment.model.context;
  const auto check_multiple = [&](const char* key, int64_t tokens) {
    const int64_t above = (tokens / context + 1) * context;
    const std::string below =
        tokens < context ? "" : fmt::format("{} or ", tokens / context * context);
    check<ConfigError>(tokens % context == 0,
                       "{}: {} {} is not a multiple of model.context {}: {}{} would be",
                       config.place(key), key, tokens, context, below, above);
  };
  check_multiple("trainer.batch_tokens", t.batch_tokens);
  if (!t.micro_batch_tokens) return;
  check_multiple("trainer.micro_batch_tokens", *t.micro_batch_tokens);
  check<ConfigError>(*t.micro_batch_tokens <= t.batch_tokens,
                     "{}: trainer.micro_batch_tokens {} is more than trainer.batch_tokens {}",
                     config.place("trainer.micro_batch_tokens"), *t.micro_batch_tokens,
                     t.batch_tokens);
}

/// Contradictions found by an options struct that does not know its place in the file.
template <class F>
void with_place(const std::string& place, F validate) {
  try {
    validate();
  } catch (const ConfigError& error) {
    throw ConfigError(place + ": " + error.what());
  }
}

/// That what is to be read is given, and nothing else.
void check_material(const Config& config, const Experiment& experiment) {
  const DataOptions& data = experiment.data;
  const std::string& kind = experiment.objective.kind;
  const Material material = experiment.objective.options->material();
  check<ConfigError>(material != Material::kText || !data.text.empty(),
                     "{}: data.text is missing: give the file to train on, as in "
                     "data: {{text: corpus.txt}}",
                     config.place("data.text"));
  check<ConfigError>(material == Material::kText || data.text.empty(),
                     "{}: objective.kind {} reads no data.text: leave it out",
                     config.place("data.text"), kind);
  for (const auto& [key, files] :
       {std::pair("data.valid", &data.valid), {"data.test", &data.test}}) {
    check<ConfigError>(material == Material::kText || files->empty(),
                       "{}: objective.kind {} reads no {}: leave it out", config.place(key), kind,
                       key);
  }
  const bool pairs = material == Material::kPairs;
  check<ConfigError>(!pairs || (!data.source.empty() && !data.target.empty()),
                     "{}: objective.kind {} wants two files, data: {{source: FILE, target: FILE}}",
                     config.place(data.source.empty() ? "data.source" : "data.target"), kind);
  for (const auto& [key, file] :
       {std::pair("data.source", data.source), {"data.target", data.target}}) {
    check<ConfigError>(pairs || file.empty(), "{}: {} goes with objective.kind translation, not {}",
                       config.place(key), key, kind);
  }
}

void check_objective(const Config& config, const Experiment& experiment) {
  const ObjectiveOptions& objective = *experiment.objective.options;
  const ObjectiveSetting setting = experiment.setting(experiment.model.vocabulary.value_or(1));
  constexpr const char* kKinds[] = {"decoder", "encoder", "encoder_decoder"};
  const std::string refusal = objective.refuses(setting.reader);
  check<ConfigError>(refusal.empty(), "{}: objective.kind {} does not go with model.kind {}: {}",
                     config.place("objective.kind"), experiment.objective.kind,
                     kKinds[static_cast<int>(setting.reader)], refusal);
  check_material(config, experiment);
  with_place(config.place("objective"), [&] { objective.validate(setting); });
  check<ConfigError>(
      objective.smoothing() == 0 || experiment.model.adaptive_softmax.cutoffs.empty(),
      "{}: objective.smoothing {} spreads over all words, which model.adaptive_softmax never looks "
      "at together: set it to 0, or leave the cutoffs out",
      config.place(config.has("objective.smoothing") ? "objective.smoothing"
                                                     : "model.adaptive_softmax.cutoffs"),
      objective.smoothing());
  const bool causal = experiment.objective.kind == "causal";
  check<ConfigError>(
      causal || experiment.data.order == DataOrder::kShuffled,
      "{}: data.order lanes (and model.memory) go with objective.kind causal, not {}",
      config.place("data.order"), experiment.objective.kind);
}

}  // namespace

namespace {

void check_data(const Config& config, DataOptions& data) {
  check<ConfigError>(data.split.size() == 3,
                     "{}: data.split wants three numbers [train, valid, test], got {}",
                     config.place("data.split"), data.split.size());
  check<ConfigError>(data.split[0] > 0,
                     "{}: data.split leaves nothing to train on: its first number is 0",
                     config.place("data.split"));
  PrepareOptions options = data.prepare_options();
  const bool fixed = data.tokenizer == "byte" || data.tokenizer == "char";
  with_place(config.place(fixed && data.vocabulary ? "data.vocabulary" : "data.min_frequency"),
             [&] { check_options(options.tokenizer_options()); });
  const bool prepared = data.text.size() == 1 && data.text[0].ends_with(".h5");
  check<ConfigError>(!prepared || (data.valid.empty() && data.test.empty()),
                     "{}: data.{} does not go with the prepared text {}, which has its own splits",
                     config.place(data.valid.empty() ? "data.test" : "data.valid"),
                     data.valid.empty() ? "test" : "valid", prepared ? data.text[0] : "");
  with_place(config.place("data.split"), [&] { settle_split(options, config.has("data.split")); });
  data.split = options.split;
}

}  // namespace

Experiment read_experiment(const Config& config) {
  Experiment experiment;
  config.into(experiment);
  TrainerOptions& t = experiment.trainer;
  check_data(config, experiment.data);
  experiment.model.validate([&](const std::string& key) { return config.place(key); });
  DataOptions& data = experiment.data;
  if (experiment.model.memory > 0 && !config.has("data.order")) data.order = DataOrder::kLanes;
  check<ConfigError>(experiment.model.memory == 0 || data.order == DataOrder::kLanes,
                     "{}: data.order shuffled does not go with model.memory: what is remembered "
                     "must be the text before; use lanes",
                     config.place("data.order"));
  check_objective(config, experiment);
  check_batches(config, experiment);
  const char* wanted = backend_for(t.precision);
  check<ConfigError>(wanted == nullptr || t.backend == wanted,
                     "{}: trainer.precision {} needs trainer.backend {}, not {}",
                     config.place("trainer.precision"),
                     kPrecisions[static_cast<size_t>(t.precision)], wanted ? wanted : "",
                     t.backend);
  with_place(config.place("optimizer"), [&] { experiment.optimizer.options->validate(); });
  ScheduleOptions& schedule = *experiment.schedule.options;
  if (!schedule.steps) schedule.steps = t.steps;
  with_place(config.place("schedule"), [&] { schedule.validate(); });
  ModelOptions& m = experiment.model;
  m.head_width = m.the_head_width();
  m.feedforward = m.the_feedforward();
  m.final_norm = m.has_final_norm();
  m.attention_dropout = m.the_attention_dropout();
  t.micro_batch_tokens = t.micro_batch_tokens.value_or(t.batch_tokens);
  return experiment;
}

std::string write_experiment(Experiment experiment) { return write_config(experiment); }

std::vector<ConfigValue> changed_values(const Experiment& stored, const Experiment& now) {
  const auto values = [](Experiment experiment) {
    return list_values(Config(), [&](Fields& f) { experiment.visit(f); });
  };
  const std::vector<ConfigValue> before = values(stored);
  std::vector<ConfigValue> changed;
  for (const ConfigValue& value : values(now)) {
    const bool same = std::any_of(before.begin(), before.end(), [&](const ConfigValue& old) {
      return old.key == value.key && old.value == value.value;
    });
    if (!same) changed.push_back(value);
  }
  return changed;
}

std::vector<ConfigValue> fixed_changes(const Experiment& stored, const Experiment& now) {
  constexpr std::array<const char*, 11> kMayChange = {
      "trainer.steps",           "trainer.evaluate_every",
      "trainer.save_every",      "trainer.keep",
      "trainer.max_minutes",     "trainer.patience",
      "trainer.threads",         "trainer.on_nonfinite",
      "trainer.nonfinite_limit", "trainer.micro_batch_tokens",
      "trainer.recompute"};
  std::vector<ConfigValue> changes = changed_values(stored, now);
  std::erase_if(changes, [&](const ConfigValue& value) {
    return std::any_of(kMayChange.begin(), kMayChange.end(),
                       [&](const char* key) { return value.key == key; });
  });
  return changes;
}

void check_resumable(const Experiment& stored, const Experiment& now) {
  const std::vector<ConfigValue> fixed = fixed_changes(stored, now);
  check<ConfigError>(fixed.empty(),
                     "{} cannot change when a run is resumed ({} was asked for): start a new run "
                     "with train --init-from to continue from these weights",
                     fixed.empty() ? "" : fixed[0].key, fixed.empty() ? "" : fixed[0].value);
  check<ConfigError>(
      now.trainer.steps >= stored.trainer.steps,
      "trainer.steps can only grow when a run is resumed: it is {}, {} was asked for",
      stored.trainer.steps, now.trainer.steps);
}

}  // namespace tapemeasure
