// SPDX-License-Identifier: MIT
#include "app/corpus.h"

#include "core/error.h"

namespace tapemeasure {

Corpus read_corpus(const Experiment& experiment, const std::string& cache,
                   std::vector<std::string>& notices) {
  const ObjectiveOptions& objective = *experiment.objective.options;
  switch (objective.material()) {
    case Material::kText:
      return cached_token_file(experiment.data.prepare_options(), cache, notices);
    case Material::kPairs: {
      Corpus corpus = cached_pair_file(experiment.data.pair_options(), cache);
      const ObjectiveSetting setting = experiment.setting(corpus.tokenizer->vocabulary());
      for (const Split split : {Split::kTrain, Split::kValid, Split::kTest}) {
        const std::string notice = objective.notice(corpus.part(split), setting);
        if (!notice.empty()) notices.push_back(notice);
      }
      return corpus;
    }
    case Material::kNothing:
      break;
  }
  return Corpus(objective.tokenizer());
}

void settle_vocabulary(Experiment& experiment, const Corpus& corpus) {
  const int64_t tokens = corpus.tokenizer->vocabulary();
  const int64_t specials =
      experiment.objective.options->specials(experiment.setting(tokens)).count();
  const int64_t needed = tokens + specials;
  const int64_t wanted = experiment.model.vocabulary.value_or(needed);
  check<ConfigError>(
      wanted >= needed, "model.vocabulary {} is smaller than the tokenizer's {}{}: leave it out",
      wanted, tokens, specials == 0 ? "" : fmt::format(" and the objective's {}", specials));
  experiment.model.vocabulary = wanted;
}

}  // namespace tapemeasure
