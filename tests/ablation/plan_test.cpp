// SPDX-License-Identifier: MIT
// Ablation files, and what is wrong with them.
#include "app/ablation/plan.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "tests/core/temporary_folder.h"

namespace tapemeasure {
namespace {

using testing::TemporaryFolder;

constexpr const char* kBase = "data: {text: a.txt}\nmodel: {layers: 1, width: 8, heads: 2}\n";
constexpr const char* kArms =
    "base: base.yaml\n"
    "arms:\n  none: {set: [model.position.kind=none]}\n  rope: {set: [model.position.kind=rope]}\n";
constexpr const char* kMeasures = "measures: {at64: {length: 64}}\n";

Plan read(const std::string& text) {
  const TemporaryFolder folder;
  write_atomically(folder.path("base.yaml"), kBase);
  write_atomically(folder.path("plan.yaml"), text);
  Plan plan = Plan::read(folder.path("plan.yaml"));
  EXPECT_EQ(plan.base, folder.path("base.yaml"));
  return plan;
}

/// What is said of a plan that is no good, without the folder.
std::string complaint(const std::string& text) {
  const TemporaryFolder folder;
  write_atomically(folder.path("base.yaml"), kBase);
  write_atomically(folder.path("plan.yaml"), text);
  try {
    Plan::read(folder.path("plan.yaml"));
  } catch (const ConfigError& error) {
    std::string message = error.what();
    const std::string prefix = folder.path("");
    for (size_t at; (at = message.find(prefix)) != std::string::npos;)
      message.erase(at, prefix.size());
    return message;
  }
  return "";
}

TEST(Plan, ArmsMeasuresAndClaims) {
  const Plan plan = read(std::string("title: T\nseeds: [4, 5]\n") + kArms +
                         "measures:\n  at64: {length: 64, label: '64'}\n  far: {length: 128}\n"
                         "claims:\n  - {id: c, statement: s, source: p, kind: small, margin: 0.1, "
                         "compare: [rope@far rope none none]}\n");
  EXPECT_EQ(plan.title, "T");
  ASSERT_EQ(plan.arms.size(), 2u);
  EXPECT_EQ(plan.arms[1].set, std::vector<std::string>{"model.position.kind=rope"});
  EXPECT_EQ(plan.measures[0].label, "64");
  EXPECT_EQ(plan.measures[1].label, "far");
  ASSERT_EQ(plan.claims[0].comparisons[0].size(), 4u);
  EXPECT_EQ(plan.claims[0].comparisons[0][0].measure, "far");
  EXPECT_EQ(plan.claims[0].comparisons[0][3].measure, "at64");
  const std::vector<Cell> cells = plan.cells();
  ASSERT_EQ(cells.size(), 4u);
  EXPECT_EQ(cells[0].name(), "none/seed-4");
  EXPECT_EQ(cells[3].name(), "rope/seed-5");
}

TEST(Plan, AGridIsAnArmForEachCombination) {
  const Plan plan = read(std::string("base: base.yaml\n") + kMeasures +
                         "grid:\n  - {key: model.position.kind, values: [none, rope]}\n"
                         "  - {key: model.layers, values: [1, 2]}\n");
  ASSERT_EQ(plan.arms.size(), 4u);
  EXPECT_EQ(plan.arms[1].name, "kind=none,layers=2");
  EXPECT_EQ(plan.arms[1].label, "kind = none, layers = 2");
  EXPECT_EQ(plan.arms[3].set,
            (std::vector<std::string>{"model.position.kind=rope", "model.layers=2"}));
}

TEST(Plan, ArmsComeAfterThoseTheyStartFrom) {
  const Plan plan = read(std::string("base: base.yaml\nseeds: [1]\n") + kMeasures +
                         "arms:\n  tuned: {init_from: first}\n  first: {}\n");
  EXPECT_EQ(plan.cells()[0].arm, "first");
  EXPECT_EQ(plan.cells()[1].arm, "tuned");
}

TEST(Plan, ConfigsOfCells) {
  const TemporaryFolder folder;
  write_atomically(folder.path("base.yaml"), kBase);
  write_atomically(folder.path("plan.yaml"),
                   std::string("set: [model.layers=3]\nseeds: [7]\n") + kArms + kMeasures);
  const Plan plan = Plan::read(folder.path("plan.yaml"));
  const Experiment experiment = read_experiment(plan.config({"rope", 7}));
  EXPECT_EQ(experiment.model.layers, 3);
  EXPECT_EQ(experiment.model.position.kind, "rope");
  EXPECT_EQ(experiment.trainer.seed, 7);
}

// What the command line sets goes over the base, the plan and the arm.
TEST(Plan, OverridesHaveTheLastWord) {
  const TemporaryFolder folder;
  write_atomically(folder.path("base.yaml"), kBase);
  write_atomically(folder.path("plan.yaml"), std::string("seeds: [7]\n") + kArms + kMeasures);
  const Plan plan =
      Plan::read(folder.path("plan.yaml"), {"model.layers=4", "model.position.kind=alibi"});
  EXPECT_EQ(read_experiment(plan.config({"rope", 7})).model.layers, 4);
  EXPECT_EQ(read_experiment(plan.config({"rope", 7})).model.position.kind, "alibi");
  EXPECT_EQ(plan.base_experiment().model.layers, 4);
}

// A value is measured again when what decides it has changed.
TEST(Plan, SpecificationsTellMeasuresApart) {
  const Plan plan = read(std::string(kArms) +
                         "measures:\n  a: {length: 64}\n  b: {length: 64, label: other}\n"
                         "  c: {length: 32}\n  d: {length: 64, split: valid}\n"
                         "  e: {length: 64, protocol: 'sliding:stride=16'}\n"
                         "  f: {length: 64, set: [trainer.keep=1]}\n");
  EXPECT_EQ(plan.measures[0].specification(), plan.measures[1].specification());
  for (const char* name : {"c", "d", "e", "f"})
    EXPECT_NE(plan.measures[0].specification(), plan.measure(name).specification()) << name;
}

TEST(Plan, MistakesHaveTheirPlace) {
  const std::string arms = kArms, measures = kMeasures;
  EXPECT_EQ(complaint(measures), "plan.yaml: an ablation wants a base config: base: FILE.yaml");
  EXPECT_EQ(complaint("base: base.yaml\n" + measures), "plan.yaml: no arms: nothing is compared");
  EXPECT_EQ(complaint("base: base.yaml\narms:\n  a: {set: [model.layer=1]}\n" + measures),
            "plan.yaml:3:6: arm 'a': --set model.layer=1: unknown key 'model.layer' (did you mean "
            "'model.layers'?)");
  EXPECT_EQ(complaint("base: base.yaml\narms:\n  a/b: {}\n" + measures),
            "plan.yaml:3:8: 'a/b' is no name: letters, digits and _ - + = , . are");
  EXPECT_EQ(complaint("base: base.yaml\narms:\n  a: {init_from: c}\n  b: {}\n" + measures),
            "plan.yaml:3:6: there is no arm 'c'");
  EXPECT_EQ(
      complaint("base: base.yaml\narms:\n  a: {init_from: b}\n  b: {init_from: a}\n" + measures),
      "plan.yaml:3:6: arm 'a' starts, in a circle, from itself");
  EXPECT_EQ(complaint(arms + "measures:\n  m: {arms: [roppe]}\n"),
            "plan.yaml:6:6: there is no arm 'roppe' (did you mean 'rope'?)");
  EXPECT_EQ(complaint(arms + "measures:\n  m: {protocol: sometimes, length: 8}\n").substr(0, 62),
            "--protocol wants nonoverlap, sliding:stride=N with N from 1 to");
  EXPECT_EQ(complaint(arms + measures + "claims: [{id: c, compare: [none rope none]}]\n"),
            "plan.yaml:6:10: 'none rope none' has 3 operands, 2 are wanted");
  EXPECT_EQ(complaint(arms + measures + "claims: [{id: c, compare: [none rope@at65]}]\n"),
            "plan.yaml:6:10: there is no measure 'at65' (did you mean 'at64'?)");
  EXPECT_EQ(complaint(arms + measures + "seeds: [1, 1]\n"), "plan.yaml: seed '1' is there twice");
  EXPECT_EQ(
      complaint("base: base.yaml\narms:\n  a: {set: [trainer.precision=auto]}\n" + measures),
      "plan.yaml:3:6: arm 'a': trainer.precision auto is up to the machine, and cells must not "
      "differ in it: name f32 or bf16");
}

// What does not compare never shares a column.
TEST(Plan, ColumnsHoldOneProtocol) {
  const std::string begin = "base: base.yaml\narms:\n  a: {}\n  b: {set: [";
  EXPECT_EQ(complaint(begin + "model.context=32]}\nmeasures: {m: {}}\n"),
            "plan.yaml:5:15: measure 'm' would put into one column what does not compare: arm 'a' "
            "with length 64 as trained, arm 'b' with length 32 as trained");
  EXPECT_EQ(complaint(begin + "model.context=32]}\nmeasures: {m: {length: 32}}\n"), "");
  EXPECT_NE(complaint(begin + "data.tokenizer=char]}\n"
                              "measures: {m: {length: 32, quantity: perplexity}}\n"),
            "");
  EXPECT_EQ(complaint(begin + "data.tokenizer=char]}\nmeasures: {m: {length: 32}}\n"), "");
}

// What is read is part of the protocol: its text, its part, how it is cut, and its line ends.
TEST(Plan, ColumnsAndClaimsAreOfOneText) {
  const std::string begin = "base: base.yaml\narms:\n  a: {}\n  b: {set: [";
  const auto column = [&](const std::string& set) {
    return complaint(begin + set + "]}\nmeasures: {m: {length: 32}}\n");
  };
  const std::string place =
      "plan.yaml:5:15: measure 'm' would put into one column what does not compare: arm 'a' with ";
  EXPECT_EQ(column("data.text=b.txt"), place + "text a.txt, arm 'b' with text b.txt");
  EXPECT_EQ(column("'data.split=[80, 10, 10]'"),
            place + "data.split 90 5 5, arm 'b' with data.split 80 10 10");
  EXPECT_EQ(column("data.newline=lf"), place + "data.newline raw, arm 'b' with data.newline lf");
  EXPECT_EQ(column("data.test=b.txt"), place + "text a.txt, arm 'b' with text b.txt");
  // Trained on other texts, measured on the same.
  EXPECT_EQ(complaint("base: base.yaml\nset: [data.test=c.txt]\narms:\n  a: {}\n"
                      "  b: {set: [data.text=b.txt]}\nmeasures: {m: {length: 32}}\n"),
            "");
  const std::string claims = "claims: [{id: c, statement: s, compare: [";
  EXPECT_EQ(complaint(begin + "data.newline=lf]}\nmeasures: {m: {arms: [a]}, n: {arms: [b]}}\n" +
                      claims + "a b@n]}]\n"),
            "plan.yaml:6:10: claim 'c' compares what was not measured of the same: a@m with "
            "data.newline raw, b@n with data.newline lf");
  EXPECT_EQ(complaint(begin + "]}\nmeasures: {m: {}, n: {split: valid}}\n" + claims + "a b@n]}]\n"),
            "plan.yaml:6:10: claim 'c' compares what was not measured of the same: a@m with the "
            "test part, b@n with the valid part");
}

TEST(Plan, SeedsAreNotForSet) {
  const std::string measures = kMeasures;
  const std::string why = "trainer.seed is not for 'set': the plan's 'seeds' give it";
  EXPECT_EQ(complaint("base: base.yaml\narms:\n  a: {set: [trainer.seed=5]}\n" + measures),
            "plan.yaml:3:6: trainer.seed=5: " + why);
  EXPECT_EQ(complaint("base: base.yaml\narms:\n  a: {set: ['trainer={seed: 5}']}\n" + measures),
            "plan.yaml:3:6: trainer={seed: 5}: " + why);
  EXPECT_EQ(complaint("base: base.yaml\narms: {a: {}}\nset: [trainer.seed=5]\n" + measures),
            "plan.yaml:3:1: trainer.seed=5: " + why);
  EXPECT_EQ(complaint("base: base.yaml\n" + measures +
                      "grid:\n  - {key: trainer.seed, values: [1, 2]}\n"),
            "plan.yaml:4:5: trainer.seed=1: " + why);
  const TemporaryFolder folder;
  write_atomically(folder.path("base.yaml"), kBase);
  write_atomically(folder.path("plan.yaml"), std::string(kArms) + kMeasures);
  EXPECT_THROW(Plan::read(folder.path("plan.yaml"), {"trainer.seed=2"}), ConfigError);
}

TEST(Plan, EqualLabelsAreToldApart) {
  const Plan plan = read(
      "base: base.yaml\narms: {a: {label: same}, b: {label: same}, c: {label: other}}\n"
      "measures: {m: {label: x}, n: {label: x}}\n");
  EXPECT_EQ(plan.arms[0].label, "same (a)");
  EXPECT_EQ(plan.arms[1].label, "same (b)");
  EXPECT_EQ(plan.arms[2].label, "other");
  EXPECT_EQ(plan.measures[1].label, "x (n)");
}

// A file of another system has other line ends, and is the same file.
TEST(Plan, CarriageReturnsAreLineEnds) {
  std::string text = std::string("title: T\n") + kArms + kMeasures;
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2)
    text.replace(at, 1, "\r\n");
  const Plan plan = read(text);
  EXPECT_EQ(plan.title, "T");
  EXPECT_EQ(plan.arms[1].set, std::vector<std::string>{"model.position.kind=rope"});
}

}  // namespace
}  // namespace tapemeasure
