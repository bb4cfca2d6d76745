// SPDX-License-Identifier: MIT
#include "app/ablation/plan_text.h"

#include <algorithm>
#include <map>

#include "app/ablation/cell_progress.h"
#include "app/costs.h"
#include "app/explain.h"
#include "app/results.h"
#include "core/error.h"

namespace tapemeasure {

namespace {

/// What cells cost, by arm.
struct ArmCosts {
  int64_t steps = 0, tokens_of_step = 0;
  int64_t bytes = 0;  // of memory, about
  std::string changes;
};

/// Keys whose value follows from others that differ as well are left out of what differs: an arm's
/// own `set` says what was meant.
std::string changes_of(const Arm& arm, const Experiment& base, const Experiment& own) {
  std::vector<std::string> changes;
  for (const ConfigValue& value : changed_values(base, own)) {
    const bool said = std::any_of(arm.set.begin(), arm.set.end(), [&](const std::string& set) {
      const std::string key = set.substr(0, set.find('='));
      return value.key == key || value.key.starts_with(key + ".");
    });
    if (said) changes.push_back(value.key + "=" + value.value);
  }
  if (!arm.init_from.empty()) changes.push_back("starts from " + arm.init_from);
  return changes.empty() ? "the base" : fmt::format("{}", fmt::join(changes, " "));
}

ArmCosts costs_of_arm(const Plan& plan, const Arm& arm, const Experiment& base) {
  Experiment own = read_experiment(plan.config({arm.name, base.trainer.seed}));
  ArmCosts costs;
  costs.changes = changes_of(arm, base, own);
  costs.steps = own.trainer.steps;
  costs.tokens_of_step = own.trainer.batch_tokens;
  own.model.vocabulary = own.model.vocabulary.value_or(likely_vocabulary(own));
  const Costs all = costs_of(own);
  costs.bytes = all.state_bytes + all.activation_bytes;
  return costs;
}

/// How far all cells are.
struct Tally {
  int64_t finished = 0, failed = 0;
  int64_t steps = 0, steps_left = 0, tokens = 0, tokens_left = 0;
  double seconds_left = 0;
  bool timed = false;  // some run tells how fast cells are
};

/// Targets per second of an arm's run, any other arm's where it has none; 0: nothing has run yet.
double speed_of(const std::map<std::string, double>& speeds, const std::string& arm) {
  const auto own = speeds.find(arm);
  if (own != speeds.end()) return own->second;
  return speeds.empty() ? 0 : speeds.begin()->second;
}

std::map<std::string, double> speeds_of(const Plan& plan, const AblationDirectory& directory) {
  std::map<std::string, double> speeds;
  for (const Cell& cell : plan.cells()) {
    const double speed = progress_of(directory.run(cell)).tokens_per_second;
    if (directory.trained(cell) && speed > 0) speeds.emplace(cell.arm, speed);
  }
  return speeds;
}

Tally tally_of(const Plan& plan, const AblationDirectory& directory,
               const std::map<std::string, ArmCosts>& costs) {
  const std::map<std::string, double> speeds = speeds_of(plan, directory);
  Tally tally;
  tally.timed = !speeds.empty();
  for (const Cell& cell : plan.cells()) {
    const ArmCosts& arm = costs.at(cell.arm);
    const int64_t done = std::min(arm.steps, progress_of(directory.run(cell)).step);
    const int64_t left = directory.trained(cell) ? 0 : arm.steps - done;
    tally.steps += arm.steps;
    tally.steps_left += left;
    tally.tokens += arm.steps * arm.tokens_of_step;
    tally.tokens_left += left * arm.tokens_of_step;
    if (tally.timed)
      tally.seconds_left +=
          static_cast<double>(left * arm.tokens_of_step) / speed_of(speeds, cell.arm);
    if (directory.finished(plan, cell))
      ++tally.finished;
    else if (directory.failure(cell))
      ++tally.failed;
  }
  return tally;
}

std::string measures_text(const Plan& plan) {
  std::string text;
  for (const Measure& measure : plan.measures) {
    text += fmt::format("  {:<20} {}, {} part", measure.name, unit_of(measure.quantity),
                        name_of(measure.split));
    if (measure.length) text += fmt::format(", length {}", *measure.length);
    if (!measure.protocol.empty()) text += ", " + measure.protocol;
    if (!measure.set.empty()) text += fmt::format(", with {}", fmt::join(measure.set, " "));
    if (!measure.best_of.empty())
      text += fmt::format(", the best of {}", fmt::join(measure.best_of, " "));
    if (!measure.lengths.empty())
      text += fmt::format(", contexts {}", fmt::join(measure.lengths, " "));
    if (!measure.arms.empty()) text += fmt::format(", of {}", fmt::join(measure.arms, " "));
    text += "\n";
  }
  return text;
}

}  // namespace

std::string plan_text(const Plan& plan, const AblationDirectory& directory, int64_t jobs) {
  const Experiment base = plan.base_experiment();
  std::map<std::string, ArmCosts> costs;
  std::string arms;
  int64_t bytes = 0;
  for (const Arm& arm : plan.arms) {
    costs[arm.name] = costs_of_arm(plan, arm, base);
    arms += fmt::format("  {:<20} {}\n", arm.name, costs[arm.name].changes);
    bytes = std::max(bytes, costs[arm.name].bytes);
  }
  const Tally tally = tally_of(plan, directory, costs);
  const size_t cells = plan.cells().size();
  const int64_t at_once = std::min(jobs, static_cast<int64_t>(cells));
  std::string text = fmt::format("{}\n{} arms, seeds {}: {} cells in {}, {} finished, {} failed\n",
                                 plan.title, plan.arms.size(), fmt::join(plan.seeds, ", "), cells,
                                 directory.path(), tally.finished, tally.failed);
  text += fmt::format("\narms, over {}\n{}\nmeasures\n{}", plan.base, arms, measures_text(plan));
  text += fmt::format("\n{} claims\n\n", plan.claims.size());
  text += fmt::format("{} steps and {} tokens in total, {} and {} of them left\n", tally.steps,
                      tally.tokens, tally.steps_left, tally.tokens_left);
  text += fmt::format("memory: at most about {} a cell, {} for {} at once\n", bytes_text(bytes),
                      bytes_text(bytes * at_once), at_once);
  if (tally.timed) {
    text += fmt::format("training takes about {} more, as fast as the runs that are there\n",
                        duration_text(tally.seconds_left / static_cast<double>(at_once)));
  } else {
    text += "no run is finished that could tell how long it will take\n";
  }
  return text;
}

}  // namespace tapemeasure
