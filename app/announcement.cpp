// SPDX-License-Identifier: MIT
#include "app/announcement.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace tapemeasure {

namespace {

std::string model_line(const Experiment& experiment, const Model& model) {
  return fmt::format(
      "{} parameters, vocabulary {} ({}{}), position {}", model.store.count(),
      model.tokenizer->vocabulary() + model.specials.count(), model.tokenizer->kind(),
      model.specials.names.empty() ? ""
                                   : fmt::format(" and {}", fmt::join(model.specials.names, " ")),
      experiment.model.position.kind);
}

std::string step_line(const Experiment& experiment, const Corpus& corpus) {
  const int64_t micro = experiment.micro_sequences(), sequences = experiment.sequences();
  const int64_t tokens = corpus.training_tokens();
  if (corpus.pairs) {
    return fmt::format("{} training tokens; a step takes at most {}, {} at once", tokens,
                       experiment.trainer.batch_tokens, *experiment.trainer.micro_batch_tokens);
  }
  return fmt::format("{}a step takes {} sequences of {} tokens, {} at once: {} pass{}",
                     tokens > 0 ? fmt::format("{} training tokens; ", tokens) : "", sequences,
                     experiment.model.context, micro, (sequences + micro - 1) / micro,
                     sequences > micro ? "es" : "");
}

/// "blocks.*.attention.query.bias": one name for the same parameter of every block.
std::string folded_name(const std::string& name) {
  constexpr std::string_view kBlocks = "blocks.";
  if (!name.starts_with(kBlocks)) return name;
  return "blocks.*" + name.substr(name.find('.', kBlocks.size()));
}

std::string decay_line(double decay, const Model& model, const Optimizer& optimizer) {
  size_t decaying = 0;
  std::vector<std::string> others;  // in creation order
  for (const Parameter& parameter : model.store.all()) {
    if (optimizer.decays(parameter)) {
      ++decaying;
      continue;
    }
    const std::string name = folded_name(parameter.name);
    if (std::find(others.begin(), others.end(), name) == others.end()) others.push_back(name);
  }
  return fmt::format("weight decay {} on {} of {} tensors{}{}", decay, decaying,
                     model.store.all().size(),
                     others.empty() ? "" : ", not on: ", fmt::join(others, " "));
}

}  // namespace

std::vector<std::string> announcement(const Experiment& experiment, const Corpus& corpus,
                                      const Model& model, const Optimizer& optimizer) {
  std::vector<std::string> lines = {model_line(experiment, model),
                                    "objective " + experiment.objective.kind,
                                    step_line(experiment, corpus)};
  const double decay = experiment.optimizer.options->weight_decay;
  if (decay != 0) lines.push_back(decay_line(decay, model, optimizer));
  lines.push_back(describe_machine());
  lines.push_back(fmt::format("expected first loss: about ln {} = {:.3f} nats", model.predicted(),
                              std::log(static_cast<double>(model.predicted()))));
  return lines;
}

}  // namespace tapemeasure
