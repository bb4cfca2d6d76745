// SPDX-License-Identifier: MIT
// A model read back from a checkpoint or a run directory, for everything that does not train.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/learner.h"

namespace tapemeasure {

struct SavedModel {
  std::string path;  ///< of the checkpoint
  Experiment experiment;
  std::vector<TextFingerprint> texts;
  int64_t step = 0;
  double best_loss = 0;  ///< of the run so far; 0 with best_step 0: never evaluated
  int64_t best_step = 0;
  std::unique_ptr<Model> model;
};

/// The checkpoint that DIR|FILE.h5 means: a run's best, or its newest whole one when it has none
/// yet.
std::string checkpoint_of(const std::string& path);

/// Loads it. `sets` are `--set` assignments: keys that would change a parameter's shape are
/// refused. Throws CheckpointError, ConfigError.
SavedModel load_model(const std::string& path, const std::vector<std::string>& sets);

/// What the model was trained on. Throws DataError when a text is not what
/// it was, with both fingerprints, or when its tokenizer is not the model's.
Corpus training_corpus(const SavedModel& saved, const std::string& cache);

/// Throws DataError with both hashes when the tokenizer of the file `path` is not the one `wanted`.
void check_tokenizer(const Tokenizer& found, const std::string& path, const Tokenizer& wanted);

/// Throws DataError with both fingerprints when `now` are not the texts that `stored` were.
void check_texts(const std::vector<TextFingerprint>& stored,
                 const std::vector<TextFingerprint>& now);

}  // namespace tapemeasure
