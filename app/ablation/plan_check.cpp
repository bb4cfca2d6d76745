// SPDX-License-Identifier: MIT
#include "app/ablation/plan_check.h"

#include <algorithm>
#include <map>
#include <set>

#include "app/evaluator.h"
#include "core/error.h"

namespace tapemeasure {

namespace {

template <class Things>
std::vector<std::string> names_of(const Things& things) {
  std::vector<std::string> names;
  for (const auto& thing : things) names.push_back(thing.name);
  return names;
}

void check_known(const std::string& name, const std::vector<std::string>& known, const char* what,
                 const std::string& place) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  const std::string guess = nearest(name, known);
  throw ConfigError(fmt::format("{}: there is no {} '{}'{}", place, what, name,
                                guess.empty() ? "" : " (did you mean '" + guess + "'?)"));
}

void check_once(const std::vector<std::string>& names, const char* what, const std::string& place) {
  std::set<std::string> seen;
  for (const std::string& name : names)
    check<ConfigError>(seen.insert(name).second, "{}: {} '{}' is there twice", place, what, name);
}

void check_names(const Plan& plan) {
  check<ConfigError>(!plan.arms.empty(), "{}: no arms: nothing is compared", plan.path);
  check<ConfigError>(!plan.measures.empty(), "{}: no measures: nothing is compared", plan.path);
  check<ConfigError>(!plan.seeds.empty(), "{}: no seeds", plan.path);
  std::vector<std::string> seeds, claims;
  for (const int64_t seed : plan.seeds) seeds.push_back(std::to_string(seed));
  for (const Claim& claim : plan.claims) claims.push_back(claim.id);
  check_once(seeds, "seed", plan.path);
  check_once(names_of(plan.arms), "arm", plan.path);
  check_once(names_of(plan.measures), "measure", plan.path);
  check_once(claims, "claim", plan.path);
}

void check_starts(const Plan& plan) {
  const std::vector<std::string> arms = names_of(plan.arms);
  for (const Arm& arm : plan.arms) {
    if (arm.init_from.empty()) continue;
    check_known(arm.init_from, arms, "arm", arm.place);
    const Arm* from = &arm;
    for (size_t steps = 0; !from->init_from.empty(); ++steps) {
      check<ConfigError>(steps < arms.size(), "{}: arm '{}' starts, in a circle, from itself",
                         arm.place, arm.name);
      from = &plan.arm(from->init_from);
    }
  }
}

/// An arm's config as trained and under a measure's `set`; what is wrong is named with the arm.
Experiment experiment_of(const Plan& plan, const Arm& arm, const std::vector<std::string>& set,
                         const std::string& place) {
  try {
    Config config = plan.config({arm.name, plan.seeds[0]});
    for (const std::string& assignment : set) config.set(assignment);
    return read_experiment(config);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: arm '{}': {}", place, arm.name, error.what()));
  }
}

/// Refuses keys that the plan itself gives to each run.
void check_set(const std::vector<std::string>& set, const std::string& place) {
  for (const std::string& assignment : set) {
    Config config = Config::parse("{}", place);
    config.set(assignment);
    const bool seed = config.has("trainer.seed");
    check<ConfigError>(!seed, "{}: {}: trainer.seed is not for 'set': the plan's 'seeds' give it",
                       place, assignment);
  }
}

void check_sets(const Plan& plan) {
  check_set(plan.set, plan.set_place);
  for (const Arm& arm : plan.arms) check_set(arm.set, arm.place);
  for (const Measure& measure : plan.measures) check_set(measure.set, measure.place);
  check_set(plan.overrides, "--set");
}

bool is_per_token(Quantity quantity) {
  return quantity == Quantity::kBitsPerToken || quantity == Quantity::kLoss ||
         quantity == Quantity::kPerplexity;
}

/// What is measured, part by part, as messages name it.
using Ground = std::vector<std::string>;

/// The text that a measure is of, and what it is divided by.
Ground text_of(const Measure& measure, const Experiment& experiment) {
  const DataOptions& data = experiment.data;
  const std::vector<std::string>& own = measure.split == Split::kTest    ? data.test
                                        : measure.split == Split::kValid ? data.valid
                                                                         : data.text;
  const bool cut = own.empty() || measure.split == Split::kTrain;
  Ground ground = {fmt::format("the {} part", name_of(measure.split)),
                   fmt::format("text {}", fmt::join(own.empty() ? data.text : own, " ")),
                   fmt::format("pairs {} {}", data.source, data.target),
                   cut ? fmt::format("data.split {}", fmt::join(data.split, " ")) : "",
                   fmt::format("data.newline {}", kLineEnds[static_cast<size_t>(data.newline)])};
  return ground;
}

/// What cells of one column must have in common.
Ground ground_of(const Measure& measure, const Experiment& experiment) {
  Ground ground = text_of(measure, experiment);
  ground.push_back("objective " + experiment.objective.kind);
  const bool as_trained =
      measure.quantity != Quantity::kEffectiveContext && !measure.length && measure.best_of.empty();
  ground.push_back(as_trained ? fmt::format("length {} as trained", experiment.model.context) : "");
  if (!is_per_token(measure.quantity)) return ground;
  ground.push_back("tokens of " + experiment.data.tokenizer);
  if (experiment.data.vocabulary)
    ground.back() += fmt::format(" with vocabulary {}", *experiment.data.vocabulary);
  return ground;
}

/// The first part in which two grounds differ, of each; empty where they are the same.
std::pair<std::string, std::string> difference_of(const Ground& a, const Ground& b) {
  const auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return at == a.end() ? std::pair<std::string, std::string>() : std::pair(*at, *other);
}

void check_protocol(const Measure& measure, const Experiment& experiment) {
  const bool causal = experiment.objective.kind == "causal";
  const bool by_windows =
      measure.best_of.empty() && measure.quantity != Quantity::kEffectiveContext;
  check<ConfigError>(measure.protocol.empty() || (causal && by_windows),
                     "{}: measure '{}' has a protocol, which goes with objective.kind causal",
                     measure.place, measure.name);
  const std::string protocol = measure.protocol.empty() ? "nonoverlap" : measure.protocol;
  if (causal && by_windows)
    Protocol::parse(protocol, measure.length.value_or(experiment.model.context));
}

/// Cells may be trained on different machines, and must not differ in what those prefer.
void check_precision(const Plan& plan) {
  for (const Arm& arm : plan.arms) {
    check<ConfigError>(
        experiment_of(plan, arm, {}, arm.place).trainer.precision != Precision::kAuto,
        "{}: arm '{}': trainer.precision auto is up to the machine, and cells must not differ in "
        "it: name f32 or bf16",
        arm.place, arm.name);
  }
}

void check_column(const Plan& plan, const Measure& measure) {
  Ground first;
  std::string first_arm;
  for (const Arm& arm : plan.arms) {
    if (!measure.measures(arm.name)) continue;
    const Experiment experiment = experiment_of(plan, arm, measure.set, measure.place);
    check_protocol(measure, experiment);
    const Ground ground = ground_of(measure, experiment);
    if (first_arm.empty()) first = ground, first_arm = arm.name;
    const auto [here, there] = difference_of(first, ground);
    check<ConfigError>(here == there,
                       "{}: measure '{}' would put into one column what does not compare: arm '{}' "
                       "with {}, arm '{}' with {}",
                       measure.place, measure.name, first_arm, here, arm.name, there);
  }
}

/// Operands may differ in lengths and protocols: claims are about those. Not in what is read.
void check_one_text(const Plan& plan, const Claim& claim, const std::vector<Operand>& comparison) {
  const auto text = [&](const Operand& operand) {
    const Measure& measure = plan.measure(operand.measure);
    return text_of(measure, experiment_of(plan, plan.arm(operand.arm), measure.set, measure.place));
  };
  const Ground first = text(comparison[0]);
  for (const Operand& operand : comparison) {
    const auto [here, there] = difference_of(first, text(operand));
    check<ConfigError>(here == there,
                       "{}: claim '{}' compares what was not measured of the same: {}@{} with {}, "
                       "{}@{} with {}",
                       claim.place, claim.id, comparison[0].arm, comparison[0].measure, here,
                       operand.arm, operand.measure, there);
  }
}

void check_best(const Plan& plan, const Measure& measure) {
  const std::vector<std::string> names = names_of(plan.measures);
  for (const std::string& name : measure.best_of) {
    check_known(name, names, "measure", measure.place);
    const Measure& part = plan.measure(name);
    check<ConfigError>(part.quantity == measure.quantity && part.split == measure.split &&
                           part.best_of.empty() && !is_time(part.quantity) &&
                           part.quantity != Quantity::kBleu,
                       "{}: measure '{}' is the best of '{}', which has another quantity or split, "
                       "or BLEU or a time",
                       measure.place, measure.name, name);
    for (const Arm& arm : plan.arms)
      check<ConfigError>(!measure.measures(arm.name) || part.measures(arm.name),
                         "{}: measure '{}' is the best of '{}', which is not measured of arm '{}'",
                         measure.place, measure.name, name, arm.name);
  }
}

void check_context(const Plan& plan, const Measure& measure) {
  const bool context = measure.quantity == Quantity::kEffectiveContext;
  check<ConfigError>(context == !measure.lengths.empty() && context == !measure.group.empty(),
                     "{}: measure '{}': lengths and group go with quantity effective_context",
                     measure.place, measure.name);
  if (!context) return;
  check<ConfigError>(measure.targets > 0, "{}: measure '{}' wants targets: how many are scored",
                     measure.place, measure.name);
  check<ConfigError>(
      std::is_sorted(measure.lengths.begin(), measure.lengths.end()) && measure.lengths.size() > 1,
      "{}: measure '{}' wants two lengths or more, shortest first", measure.place, measure.name);
  for (const std::string& arm : measure.group) {
    check_known(arm, names_of(plan.arms), "arm", measure.place);
    check<ConfigError>(measure.measures(arm), "{}: measure '{}' is not measured of arm '{}'",
                       measure.place, measure.name, arm);
  }
}

void check_measures(const Plan& plan) {
  for (const Measure& measure : plan.measures) {
    for (const std::string& arm : measure.arms)
      check_known(arm, names_of(plan.arms), "arm", measure.place);
    check<ConfigError>(measure.quantity != Quantity::kTokensPerSecond || measure.targets > 0,
                       "{}: measure '{}' wants targets: how many are scored", measure.place,
                       measure.name);
    check_best(plan, measure);
    check_context(plan, measure);
    check_column(plan, measure);
  }
}

void check_claims(const Plan& plan) {
  const std::vector<std::string> arms = names_of(plan.arms), measures = names_of(plan.measures);
  for (const Claim& claim : plan.claims) {
    for (const std::vector<Operand>& comparison : claim.comparisons) {
      for (const Operand& operand : comparison) {
        check_known(operand.arm, arms, "arm", claim.place);
        check_known(operand.measure, measures, "measure", claim.place);
        const Measure& measure = plan.measure(operand.measure);
        check<ConfigError>(measure.measures(operand.arm),
                           "{}: claim '{}' compares {}@{}, which is not measured", claim.place,
                           claim.id, operand.arm, operand.measure);
        check<ConfigError>(measure.quantity == plan.measure(comparison[0].measure).quantity,
                           "{}: claim '{}' compares different quantities", claim.place, claim.id);
        check<ConfigError>(!is_time(measure.quantity) || claim.kind == ClaimKind::kRatioAbove,
                           "{}: claim '{}': times are judged by ratio_above only", claim.place,
                           claim.id);
      }
      check_one_text(plan, claim, comparison);
    }
  }
  for (const PaperTable::Row& row : plan.paper.rows)
    if (!row.arm.empty()) check_known(row.arm, arms, "arm", plan.path + ": the paper's table");
}

}  // namespace

void check_plan(const Plan& plan) {
  check_names(plan);
  check_starts(plan);
  check_precision(plan);
  for (const Arm& arm : plan.arms) experiment_of(plan, arm, {}, arm.place);
  check_measures(plan);
  check_claims(plan);
  check_sets(plan);
}

}  // namespace tapemeasure
