// SPDX-License-Identifier: MIT
#include "app/saved_model.h"

#include <filesystem>

#include "app/checkpoint.h"
#include "app/corpus.h"
#include "app/run_directory.h"
#include "core/error.h"
#include "core/file/state_file.h"

namespace tapemeasure {

namespace {

bool loads(const std::string& path) {
  try {
    open_checkpoint(path);
    return true;
  } catch (const CheckpointError&) {
    return false;
  }
}

/// Special tokens have rows of the trained tables: with others, an id would name another token's.
/// None at all do no harm.
void check_specials(const Experiment& stored, const SavedModel& saved,
                    const std::vector<std::string>& sets) {
  const int64_t vocabulary = saved.model->tokenizer->vocabulary();
  const Specials before = stored.objective.options->specials(stored.setting(vocabulary));
  const Specials& now = saved.model->specials;
  check<ConfigError>(now.count() == 0 || now.names == before.names,
                     "--set {} changes the objective's special tokens, which a trained model has "
                     "already: it has [{}], [{}] are asked for",
                     fmt::join(sets, " --set "), fmt::join(before.names, " "),
                     fmt::join(now.names, " "));
}

}  // namespace

std::string checkpoint_of(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return path;
  const RunDirectory directory(path);
  check<CheckpointError>(directory.exists(), "{}: not a run directory: it has no config.yaml",
                         path);
  const std::string best = directory.file("best.h5");
  if (std::filesystem::exists(best) && loads(best)) return best;
  const std::vector<int64_t> steps = directory.checkpoints();
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (loads(directory.checkpoint(*step))) return directory.checkpoint(*step);
  }
  throw CheckpointError(path + ": no checkpoint yet");
}

SavedModel load_model(const std::string& path, const std::vector<std::string>& sets) {
  SavedModel saved;
  saved.path = checkpoint_of(path);
  const Hdf5Reader file = open_checkpoint(saved.path);
  StateReader values(file);
  Config config = Config::parse(file.text("config"), saved.path);
  const Experiment stored = read_experiment(config);
  for (const std::string& assignment : sets) config.set(assignment);
  saved.experiment = read_experiment(config);
  visit_data(values, saved.texts);
  values.integer("trainer/step", saved.step);
  values.real("trainer/best_loss", saved.best_loss);
  values.integer("trainer/best_step", saved.best_step);
  std::shared_ptr<const Tokenizer> tokenizer;
  visit_tokenizer(values, tokenizer);
  saved.model = std::make_unique<Model>(saved.experiment, tokenizer);
  check_specials(stored, saved, sets);
  try {
    load_parameters(file, saved.model->store, "");
  } catch (const CheckpointError& error) {
    if (sets.empty()) throw;
    const std::string problems = error.what();
    throw ConfigError(
        fmt::format("--set {} changes parameters, which a trained model has already: {}",
                    fmt::join(sets, " --set "), problems.substr(0, problems.find(';'))));
  }
  return saved;
}

void check_texts(const std::vector<TextFingerprint>& stored,
                 const std::vector<TextFingerprint>& now) {
  const auto describe = [](const TextFingerprint& text) {
    return fmt::format("{} bytes, SHA-256 {}", text.bytes, text.sha256);
  };
  check<DataError>(stored.size() == now.size(), "data.text was {} files, now it is {}",
                   stored.size(), now.size());
  for (size_t i = 0; i < stored.size(); ++i) {
    check<DataError>(stored[i].bytes == now[i].bytes && stored[i].sha256 == now[i].sha256,
                     "{}: the text is not what this run was trained on: it was {}; now it is {}",
                     now[i].path, describe(stored[i]), describe(now[i]));
  }
}

void check_tokenizer(const Tokenizer& found, const std::string& path, const Tokenizer& wanted) {
  check<DataError>(found.hash() == wanted.hash(),
                   "{}: its tokenizer ({}, {} tokens, SHA-256 {}) is not the model's ({}, {} "
                   "tokens, SHA-256 {})",
                   path.empty() ? "the task of --set" : path, found.kind(), found.vocabulary(),
                   found.hash(), wanted.kind(), wanted.vocabulary(), wanted.hash());
}

Corpus training_corpus(const SavedModel& saved, const std::string& cache) {
  std::vector<std::string> notices;
  Corpus corpus = read_corpus(saved.experiment, cache, notices);
  check_texts(saved.texts, corpus.texts());
  check_tokenizer(*corpus.tokenizer, corpus.path(), *saved.model->tokenizer);
  return corpus;
}

}  // namespace tapemeasure
