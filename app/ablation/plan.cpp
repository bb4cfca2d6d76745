// SPDX-License-Identifier: MIT
#include "app/ablation/plan.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <map>

#include "app/ablation/plan_check.h"
#include "app/ablation/plan_file.h"
#include "core/error.h"

namespace tapemeasure {

namespace {

/// Names become folders and stand between spaces and @ in comparisons.
void check_name(const std::string& name, const std::string& place) {
  const bool plain = !name.empty() && name[0] != '.' && name[0] != '-' &&
                     std::all_of(name.begin(), name.end(), [](unsigned char c) {
                       return std::isalnum(c) || std::strchr("_-+=,.", c) != nullptr;
                     });
  check<ConfigError>(plain, "{}: '{}' is no name: letters, digits and _ - + = , . are", place,
                     name);
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c != ' ')
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// "model.position.max_distance" and "16": "max_distance=16".
std::string grid_name(const std::string& key, const std::string& value, const char* between) {
  return fmt::format("{}{}{}", key.substr(key.rfind('.') + 1), between, value);
}

/// An arm for each combination of the grid's values.
std::vector<Arm> grid_arms(const std::vector<NamedConfig>& grid) {
  std::vector<Arm> arms(grid.empty() ? 0 : 1);
  for (const NamedConfig& named : grid) {
    GridOptions options;
    named.config.into(options);
    check<ConfigError>(!options.key.empty() && !options.values.empty(),
                       "{}: a grid wants a key and its values", named.place);
    std::vector<Arm> product;
    for (const Arm& arm : arms) {
      for (const std::string& value : options.values) {
        Arm next = arm;
        const std::string separator = next.name.empty() ? "" : ",";
        next.name += separator + grid_name(options.key, value, "=");
        next.label += (separator.empty() ? "" : ", ") + grid_name(options.key, value, " = ");
        next.set.push_back(options.key + "=" + value);
        next.place = named.place;
        product.push_back(std::move(next));
      }
    }
    arms = std::move(product);
  }
  return arms;
}

std::vector<Arm> arms_of(const PlanOptions& options) {
  std::vector<Arm> arms = grid_arms(options.grid);
  for (const NamedConfig& named : options.arms) {
    ArmOptions arm;
    named.config.into(arm);
    arms.push_back({named.name, arm.label.empty() ? named.name : arm.label, arm.init_from, arm.set,
                    named.place});
  }
  for (const Arm& arm : arms) check_name(arm.name, arm.place);
  return arms;
}

std::vector<Measure> measures_of(const PlanOptions& options) {
  std::vector<Measure> measures;
  for (const NamedConfig& named : options.measures) {
    MeasureOptions read;
    named.config.into(read);
    check_name(named.name, named.place);
    read.measure.name = named.name;
    if (read.measure.label.empty()) read.measure.label = named.name;
    read.measure.place = named.place;
    measures.push_back(std::move(read.measure));
  }
  return measures;
}

/// "k2@at64", or "k2" with the claim's own measure.
Operand operand_of(const std::string& text, const std::string& standard) {
  const size_t at = text.find('@');
  if (at == std::string::npos) return {text, standard};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::vector<Claim> claims_of(const PlanOptions& options, const std::vector<Measure>& measures) {
  std::vector<Claim> claims;
  for (const NamedConfig& named : options.claims) {
    ClaimOptions read;
    named.config.into(read);
    Claim& claim = read.claim;
    claim.place = named.place;
    check_name(claim.id, named.place);
    if (read.measure.empty() && !measures.empty()) read.measure = measures[0].name;
    const size_t wanted = claim.kind == ClaimKind::kSmall ? 4 : 2;
    for (const std::string& text : read.compare) {
      std::vector<Operand> operands;
      for (const std::string& word : words_of(text))
        operands.push_back(operand_of(word, read.measure));
      check<ConfigError>(operands.size() == wanted, "{}: '{}' has {} operands, {} are wanted",
                         named.place, text, operands.size(), wanted);
      claim.comparisons.push_back(std::move(operands));
    }
    check<ConfigError>(!claim.comparisons.empty(), "{}: claim '{}' compares nothing", named.place,
                       claim.id);
    claims.push_back(std::move(claim));
  }
  return claims;
}

/// Things that are called the same get their names, which differ, behind their labels.
template <class Thing>
void tell_apart(std::vector<Thing>& things) {
  std::map<std::string, int> count;
  for (const Thing& thing : things) ++count[thing.label];
  for (Thing& thing : things)
    if (count[thing.label] > 1) thing.label += fmt::format(" ({})", thing.name);
}

PaperTable paper_of(const PlanOptions& options) {
  PaperTable paper = options.paper.table;
  for (const NamedConfig& named : options.paper.rows) {
    PaperRowOptions row;
    named.config.into(row);
    check<ConfigError>(row.row.values.size() == paper.columns.size(),
                       "{}: {} values, but the paper's table has {} columns", named.place,
                       row.row.values.size(), paper.columns.size());
    paper.rows.push_back(std::move(row.row));
  }
  return paper;
}

/// The base is relative to the file that names it, which may be one that the plan extends.
std::string base_path(const Config& config, const std::string& base) {
  const std::string place = config.place("base");
  const std::string file = place.substr(0, place.rfind(':', place.rfind(':') - 1));
  return (std::filesystem::path(file).parent_path() / base).lexically_normal().string();
}

}  // namespace

Plan Plan::read(const std::string& path, const std::vector<std::string>& overrides) {
  const Config config = Config::read(path);
  PlanOptions options;
  config.into(options);
  check<ConfigError>(!options.base.empty(), "{}: an ablation wants a base config: base: FILE.yaml",
                     path);
  Plan plan;
  plan.path = path;
  plan.title = options.title.empty() ? std::filesystem::path(path).stem().string() : options.title;
  plan.base = base_path(config, options.base);
  plan.set = options.set;
  plan.set_place = config.place("set");
  plan.overrides = overrides;
  plan.seeds = options.seeds;
  plan.arms = arms_of(options);
  plan.measures = measures_of(options);
  plan.claims = claims_of(options, plan.measures);
  plan.paper = paper_of(options);
  check_plan(plan);
  tell_apart(plan.arms);
  tell_apart(plan.measures);
  return plan;
}

const Arm& Plan::arm(const std::string& name) const {
  const auto found =
      std::find_if(arms.begin(), arms.end(), [&](const Arm& each) { return each.name == name; });
  check<ConfigError>(found != arms.end(), "{}: there is no arm '{}'", path, name);
  return *found;
}

const Measure& Plan::measure(const std::string& name) const {
  const auto found = std::find_if(measures.begin(), measures.end(),
                                  [&](const Measure& each) { return each.name == name; });
  check<ConfigError>(found != measures.end(), "{}: there is no measure '{}'", path, name);
  return *found;
}

bool Plan::chooses_by(const Measure& measure) const {
  return std::any_of(measures.begin(), measures.end(), [&](const Measure& other) {
    return std::count(other.best_of.begin(), other.best_of.end(), measure.name) > 0;
  });
}

bool Plan::rests_on_times(const Claim& claim) const {
  return is_time(measure(claim.comparisons[0][0].measure).quantity);
}

std::vector<Cell> Plan::cells() const {
  std::vector<const Arm*> ordered;
  const auto placed = [&](const std::string& name) {
    return std::any_of(ordered.begin(), ordered.end(),
                       [&](const Arm* each) { return each->name == name; });
  };
  while (ordered.size() < arms.size()) {  // check_plan has seen to it that there is no circle
    for (const Arm& each : arms)
      if (!placed(each.name) && (each.init_from.empty() || placed(each.init_from)))
        ordered.push_back(&each);
  }
  std::vector<Cell> cells;
  for (const int64_t seed : seeds)
    for (const Arm* each : ordered) cells.push_back({each->name, seed});
  return cells;
}

Experiment Plan::base_experiment() const {
  Config config = Config::read(base);
  for (const std::string& assignment : set) config.set(assignment);
  for (const std::string& assignment : overrides) config.set(assignment);
  return read_experiment(config);
}

Config Plan::config(const Cell& cell) const {
  Config config = Config::read(base);
  for (const std::string& assignment : set) config.set(assignment);
  for (const std::string& assignment : arm(cell.arm).set) config.set(assignment);
  for (const std::string& assignment : overrides) config.set(assignment);
  config.set("trainer.seed=" + std::to_string(cell.seed));
  return config;
}

}  // namespace tapemeasure
