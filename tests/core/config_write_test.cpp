// SPDX-License-Identifier: MIT
// Configs written, listed and explained.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <random>

#include "core/config/config.h"
#include "core/config/scalar.h"
#include "core/error.h"
#include "tests/core/config_options.h"

namespace tapemeasure::testing {
namespace {

// R147: the dump, fed back, gives the identical dump.
TEST(ConfigWrite, WritesWhatItReads) {
  TestOptions o = read(
      "seed: 1", {"model.position={kind: rope, scaling: {kind: yarn}}",
                  "data.text=\"a: b #\\\" \\\\ \\n é\"", "data.tags=[a, '', 'no']",
                  "optimizer.learning_rate=1e-5", "model.bias=[key]", "model.attention_scale=0.1"});
  const std::string first = write_config(o);
  TestOptions again = read(first);
  EXPECT_EQ(write_config(again), first);
  EXPECT_EQ(again.data.text, "a: b #\" \\ \n é");
  EXPECT_EQ(again.data.tags, (std::vector<std::string>{"a", "", "no"}));
  EXPECT_EQ(again.model.scale, 0.1);
  EXPECT_EQ(write_config(again), R"(model:
  kind: decoder
  width: 128
  activation: gelu
  attention_scale: 0.1
  bias: [key]
  dropout: 0.1
  position:
    kind: rope
    theta: 10000
    scaling:
      kind: yarn
      factor: 4
      original_length: 1024
      ramp: [32, 1]
data:
  text: "a: b #\" \\ \n é"
  split: [90, 5, 5]
  tags: [a, "", "no"]
optimizer:
  learning_rate: 1.0e-05
seed: 1
)");
}

TEST(ConfigWrite, EmptySectionsAreWrittenToo) {
  struct Inner {
    std::optional<double> x;
    void visit(Fields& f) { f.real("x", x, {0, 1}, "y", "z"); }
  };
  struct Outer {
    Inner inner;
    void visit(Fields& f) { f.section("inner", inner, "a section"); }
  } outer;
  EXPECT_EQ(write_config(outer), "inner: {}\n");
  Config::parse(write_config(outer), "t.yaml").into(outer);
}

TEST(ConfigWrite, DoublesReadBackToTheSameBits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    bool too_large = false;
    const std::optional<double> back = parse_real(format_real(value), too_large);
    ASSERT_TRUE(back.has_value()) << format_real(value);
    ASSERT_EQ(std::bit_cast<uint64_t>(*back), std::bit_cast<uint64_t>(value));
  }
  EXPECT_EQ(format_real(1e-5), "1.0e-05");
  EXPECT_EQ(format_real(-0.0), "-0");
}

TEST(ConfigWrite, ListsValuesWithOrigins) {
  Config config = Config::parse("model: {width: 64}", "t.yaml");
  config.set("seed=3");
  TestOptions o;
  config.into(o);
  std::map<std::string, ConfigValue> values;
  for (const ConfigValue& v : list_values(config, [&](Fields& f) { o.visit(f); }))
    values[v.key] = v;
  EXPECT_EQ(values["model.width"].origin, "t.yaml:1:9");
  EXPECT_EQ(values["model.width"].value, "64");
  EXPECT_EQ(values["seed"].origin, "--set");
  EXPECT_EQ(values["model.position.kind"].origin, "default");
  EXPECT_EQ(values["model.head_width"].value, "width / heads");
  EXPECT_EQ(values.count("model.position.theta"), 0u);
}

// R172: every key has a help line, a default and, for numbers, a range.
TEST(ConfigWrite, ListsAllKeys) {
  TestOptions o;
  std::map<std::string, ConfigKey> keys;
  for (const ConfigKey& k : list_keys([&](Fields& f) { o.visit(f); }))
    keys[k.key + "|" + k.kind] = k;
  const ConfigKey distance = keys["model.position.max_distance|position.kind: shaw"];
  EXPECT_EQ(distance.type, "integer");
  EXPECT_EQ(distance.value, "16");
  EXPECT_EQ(distance.range, "1 ... 4096");
  EXPECT_EQ(distance.unit, "tokens");
  EXPECT_EQ(distance.help, "distances beyond share a vector");
  EXPECT_EQ(keys["model.position.scaling.factor|position.kind: rope, scaling.kind: yarn"].value,
            "4");
  EXPECT_EQ(keys["model.position.kind|"].type, "one of: none, shaw, rope");
  EXPECT_EQ(keys["model.position.kind|"].value, "shaw");
  EXPECT_EQ(keys["model.position.theta|position.kind: rope"].range, "1 or more");
  EXPECT_EQ(keys["model.attention_scale|"].type, "number or one of: rsqrt");
  EXPECT_EQ(keys["data.split|"].type, "list of integers");
  EXPECT_EQ(keys.size(), 23u);
}

TEST(ConfigWrite, Nearest) {
  const std::vector<std::string> words = {"layers", "width", "kind"};
  EXPECT_EQ(nearest("layer", words), "layers");
  EXPECT_EQ(nearest("wdith", words), "width");
  EXPECT_EQ(nearest("xyz", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest("x", {"y"}), "");
}

}  // namespace
}  // namespace tapemeasure::testing
