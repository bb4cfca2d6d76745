// SPDX-License-Identifier: MIT
// Many sections of one kind under one key.
#include <gtest/gtest.h>

#include "core/config/config.h"
#include "core/error.h"

namespace tapemeasure {
namespace {

struct Arm {
  int64_t layers = 1;
  std::string label;
  void visit(Fields& f) {
    f.integer("layers", layers, {1, 9}, "how many");
    f.text("label", label, "for people");
  }
};

struct Plan {
  std::vector<NamedConfig> arms;
  void visit(Fields& f) { f.sections("arms", arms, "what is compared"); }
};

Plan read(const std::string& text, const std::vector<std::string>& sets = {}) {
  Config config = Config::parse(text, "plan.yaml");
  for (const std::string& assignment : sets) config.set(assignment);
  Plan plan;
  config.into(plan);
  return plan;
}

Arm arm(const NamedConfig& named) {
  Arm result;
  named.config.into(result);
  return result;
}

std::string complaint(const std::string& text) {
  try {
    for (const NamedConfig& named : read(text).arms) arm(named);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(ConfigSections, ByNameInTheOrderOfTheFile) {
  const Plan plan = read("arms:\n  two: {layers: 2}\n  one: {label: first}\n  bare:\n");
  ASSERT_EQ(plan.arms.size(), 3u);
  EXPECT_EQ(plan.arms[0].name, "two");
  EXPECT_EQ(arm(plan.arms[0]).layers, 2);
  EXPECT_EQ(plan.arms[0].place, "plan.yaml:2:8");
  EXPECT_EQ(arm(plan.arms[1]).label, "first");
  EXPECT_EQ(arm(plan.arms[2]).layers, 1);
}

TEST(ConfigSections, AList) {
  const Plan plan = read("arms:\n  - {layers: 2}\n  - {layers: 3}\n");
  ASSERT_EQ(plan.arms.size(), 2u);
  EXPECT_EQ(plan.arms[1].name, "");
  EXPECT_EQ(arm(plan.arms[1]).layers, 3);
}

TEST(ConfigSections, LaterLayersGoOverEarlierOnes) {
  const Plan plan = read("arms: {a: {layers: 2, label: kept}, b: {}}\n",
                         {"arms.a.layers=5", "arms.c={layers: 7}"});
  ASSERT_EQ(plan.arms.size(), 3u);
  EXPECT_EQ(arm(plan.arms[0]).layers, 5);
  EXPECT_EQ(arm(plan.arms[0]).label, "kept");
  EXPECT_EQ(arm(plan.arms[2]).layers, 7);
  EXPECT_EQ(read("arms: {a: {}}\n", {"arms=[{layers: 2}]"}).arms.size(), 1u);
  EXPECT_EQ(read("arms: [{}, {}]\n", {"arms={a: {}}"}).arms[0].name, "a");
}

TEST(ConfigSections, MistakesHaveTheirPlace) {
  EXPECT_EQ(complaint("arms:\n  a: {layer: 2}\n"),
            "plan.yaml:2:7: unknown key 'layer' (did you mean 'layers'?)");
  EXPECT_EQ(complaint("arms:\n  a: {layers: 12}\n"),
            "plan.yaml:2:15: 'layers' is out of range 1 ... 9: 12");
  const std::string wanted = "wants sections by name or a list of sections, found ";
  EXPECT_EQ(complaint("arms: many\n"), "plan.yaml:1:7: 'arms' " + wanted + "many");
  EXPECT_EQ(complaint("arms:\n  a: 3\n"), "plan.yaml:2:6: 'arms' " + wanted + "3");
  EXPECT_EQ(complaint("arms: [1, 2]\n"), "plan.yaml:1:8: 'arms' " + wanted + "1");
}

}  // namespace
}  // namespace tapemeasure
