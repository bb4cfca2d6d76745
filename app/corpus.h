// SPDX-License-Identifier: MIT
// From an experiment to what it reads, and to the vocabulary that follows from that.
#pragma once

#include <string>
#include <vector>

#include "app/experiment.h"

namespace tapemeasure {

/// What an experiment trains on: its text or pairs, prepared and kept in `cache`, or nothing but an
/// objective's own alphabet. `notices` receives what there is to say.
Corpus read_corpus(const Experiment& experiment, const std::string& cache,
                   std::vector<std::string>& notices);
/// Sets model.vocabulary to the tokenizer's and the objective's special tokens, unless it is
/// larger. Throws ConfigError when it is smaller.
void settle_vocabulary(Experiment& experiment, const Corpus& corpus);

}  // namespace tapemeasure
