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

std::string word_for(Role role) {
  constexpr const char* kWords[] = {"weights", "biases", "norms", "embeddings", "positions"};
  return kWords[static_cast<size_t>(role)];
}

/// What does not decay: whole kinds of parameters by their word, others by name.
std::string decay_line(double decay, const Model& model, const Optimizer& optimizer) {
  const auto& all = model.store.all();
  const auto decays = [&](const Parameter& parameter) { return optimizer.decays(parameter); };
  std::vector<std::string> others;  // in creation order
  for (const Parameter& parameter : all) {
    if (decays(parameter)) continue;
    const bool whole_kind = std::none_of(all.begin(), all.end(), [&](const Parameter& other) {
      return other.role == parameter.role && decays(other);
    });
    const std::string name = whole_kind ? word_for(parameter.role) : folded_name(parameter.name);
    if (std::find(others.begin(), others.end(), name) == others.end()) others.push_back(name);
  }
  return fmt::format("weight decay {} on {} of {} tensors{}{}", decay,
                     std::count_if(all.begin(), all.end(), decays), all.size(),
                     others.empty() ? "" : ", not on ", fmt::join(others, ", "));
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
