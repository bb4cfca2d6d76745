// SPDX-License-Identifier: MIT
// Reading configs: values, kinds, extends, --set, places.
#include "core/config/config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "tests/core/config_options.h"
#include "tests/core/error_of.h"
#include "tests/core/temporary_folder.h"

namespace tapemeasure::testing {
namespace {

namespace fs = std::filesystem;

TEST(Config, ReadsEveryKindOfField) {
  const TestOptions o = read(R"(
model:
  kind: encoder
  width: 64
  head_width: 0x10
  final_norm: off
  activation: silu
  attention_scale: 0.5
  bias: [query, value]
  dropout: .25
  position:
    kind: rope
    theta: 5e4
    scaling: {kind: yarn, factor: 8, ramp: 7, original_length: 1e4}
data: {text: "a file.txt", split: [80, 10, 10], tags: [x, "1", 2]}
optimizer: {learning_rate: 1e-5}
seed: -9223372036854775808
)");
  EXPECT_EQ(o.model.kind, 1);
  EXPECT_EQ(o.model.width, 64);
  EXPECT_EQ(o.model.head_width, 16);
  EXPECT_EQ(o.model.final_norm, false);
  EXPECT_EQ(o.model.activation, Activation::kSilu);
  EXPECT_EQ(o.model.scale_word, "");
  EXPECT_EQ(o.model.scale, 0.5);
  EXPECT_EQ(o.model.biased, (std::vector<std::string>{"query", "value"}));
  EXPECT_EQ(o.model.dropout, 0.25);
  EXPECT_EQ(o.model.position.kind, "rope");
  const RopeOptions& rope = options_of<RopeOptions>(o.model.position);
  EXPECT_EQ(rope.theta, 5e4);
  const YarnScaling& yarn = options_of<YarnScaling>(rope.scaling);
  EXPECT_EQ(yarn.factor, 8);
  EXPECT_EQ(yarn.ramp, std::vector<double>{7});
  EXPECT_EQ(yarn.original_length, 10000);
  EXPECT_FALSE(yarn.attention_factor.has_value());
  EXPECT_EQ(o.data.text, "a file.txt");
  EXPECT_EQ(o.data.split, (std::vector<int64_t>{80, 10, 10}));
  EXPECT_EQ(o.data.tags, (std::vector<std::string>{"x", "1", "2"}));
  EXPECT_EQ(o.optimizer.learning_rate, 1e-5);
  EXPECT_EQ(o.seed, INT64_MIN);
}

TEST(Config, KeepsDefaults) {
  TestOptions o;
  o.model.width = 32;
  o.model.head_width = 8;
  Config().into(o);
  EXPECT_EQ(o.model.width, 32);
  EXPECT_EQ(o.model.head_width, 8);
  EXPECT_EQ(options_of<ShawOptions>(o.model.position).max_distance, 16);
  Config::parse("model: {head_width: null}\ndata:\n", "t.yaml").into(o);
  EXPECT_FALSE(o.model.head_width.has_value());
  EXPECT_EQ(o.data.split, (std::vector<int64_t>{90, 5, 5}));
}

TEST(Config, NumbersAndBooleans) {
  EXPECT_EQ(read("seed: 1e4").seed, 10000);
  EXPECT_EQ(read("seed: +7").seed, 7);
  EXPECT_EQ(read("seed: -0x10").seed, -16);
  EXPECT_EQ(read("seed: 9223372036854775807").seed, INT64_MAX);
  EXPECT_EQ(read("optimizer: {learning_rate: 1}").optimizer.learning_rate, 1);
  for (const char* yes : {"true", "yes", "on", "True", "ON"})
    EXPECT_EQ(read(fmt::format("model: {{final_norm: {}}}", yes)).model.final_norm, true);
  for (const char* no : {"false", "no", "off", "No", "FALSE"})
    EXPECT_EQ(read(fmt::format("model: {{final_norm: {}}}", no)).model.final_norm, false);
  EXPECT_EQ(read("model: {bias: no}").model.bias, false);
  EXPECT_EQ(read("model: {bias: []}").model.bias, false);
}

TEST(Config, AnchorsAndAliases) {
  const TestOptions o = read("optimizer: {learning_rate: &r 0.5}\nmodel: {dropout: *r}");
  EXPECT_EQ(o.model.dropout, 0.5);
}

TEST(Config, Set) {
  EXPECT_EQ(read("seed: 1", {"seed=2", "seed=3"}).seed, 3);
  EXPECT_EQ(read("seed: 1", {"data.split=[90,5,5]"}).data.split.size(), 3u);
  EXPECT_EQ(read("seed: 1", {"data.text=a=b"}).data.text, "a=b");
  EXPECT_EQ(read("data: {text: x}", {"data.text="}).data.text, "");
  const TestOptions o =
      read("seed: 1", {"model.position={kind: rope, theta: 5e4}", "model.position.scaling=linear"});
  EXPECT_EQ(options_of<RopeOptions>(o.model.position).theta, 5e4);
  EXPECT_EQ(options_of<RopeOptions>(o.model.position).scaling.kind, "linear");
  EXPECT_EQ(message("seed: 1", {"seed="}), "--set seed=: 'seed' wants an integer, found nothing");
  EXPECT_EQ(message("seed: 1", {"seed"}), "--set seed: wanted KEY=VALUE");
  EXPECT_EQ(message("seed: 1", {"=5"}), "--set =5: the key is empty, or a part of it");
  EXPECT_EQ(message("seed: 1", {"model..width=5"}),
            "--set model..width=5: the key is empty, or a part of it");
  EXPECT_EQ(message("seed: 1", {"data.split=[1,"}).substr(0, 31),
            "--set data.split=[1,: not YAML:");
  EXPECT_NE(message("seed: 1", {"data={text: a, text: b}"}).find("given twice"), std::string::npos);
}

TEST(Config, ANewKindDropsTheKeysOfTheOld) {
  const std::string rope = "model: {position: {kind: rope, theta: 7, scaling: {kind: yarn}}}";
  EXPECT_EQ(read(rope, {"model.position.kind=shaw"}).model.position.kind, "shaw");
  EXPECT_EQ(read(rope, {"model.position=shaw"}).model.position.kind, "shaw");
  EXPECT_EQ(read(rope, {"model.position={kind: shaw, max_distance: 3}"}).model.position.kind,
            "shaw");
  // The same kind again drops nothing; there and back drops all.
  TestOptions o = read(rope, {"model.position.kind=rope"});
  EXPECT_EQ(options_of<RopeOptions>(o.model.position).theta, 7);
  o = read(rope, {"model.position.kind=shaw", "model.position.kind=rope"});
  EXPECT_EQ(options_of<RopeOptions>(o.model.position).theta, 10000);
  // The default kind counts as the one before.
  const std::string shaw = "model: {position: {max_distance: 3}}";
  o = read(shaw, {"model.position.kind=shaw"});
  EXPECT_EQ(options_of<ShawOptions>(o.model.position).max_distance, 3);
  EXPECT_EQ(read(shaw, {"model.position=rope"}).model.position.kind, "rope");
  // Keys that a section has under every kind stay.
  o = read("model: {width: 64, position: {max_distance: 3}}", {"model.kind=encoder"});
  EXPECT_EQ(o.model.width, 64);
  EXPECT_EQ(options_of<ShawOptions>(o.model.position).max_distance, 3);
  // What no kind has is still a mistake.
  EXPECT_EQ(message("model: {position: {kind: rope, tetha: 7}}", {"model.position=shaw"}),
            "t.yaml:1:32: unknown key 'model.position.tetha' (did you mean "
            "'model.position.theta'?)");
  // Keys set after the kind belong to it.
  EXPECT_EQ(message("seed: 1", {"model.position=rope", "model.position.max_distance=3"}),
            "--set model.position.max_distance=3: 'model.position.max_distance' belongs to "
            "position.kind shaw, here it is rope");
}

TEST(Config, Extends) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path("base"));
  folder.write("base/base.yaml",
               "extends: root.yaml\nmodel: {width: 64, position: {kind: rope, theta: 7}}\n"
               "data: {split: [1, 2, 3]}\n");
  folder.write("base/root.yaml", "seed: 5\nmodel: {width: 32, dropout: 0.5}\n");
  const std::string path = folder.write(
      "a.yaml", "extends: base/base.yaml\nmodel: {position: {kind: shaw}}\ndata: {split: [4]}\n");
  const Config config = Config::read(path);
  TestOptions o;
  config.into(o);
  EXPECT_EQ(o.seed, 5);
  EXPECT_EQ(o.model.width, 64);
  EXPECT_EQ(o.model.dropout, 0.5);
  EXPECT_EQ(o.model.position.kind, "shaw");
  EXPECT_EQ(o.data.split, std::vector<int64_t>{4});
  EXPECT_EQ(config.place("seed"), folder.path("base/root.yaml") + ":1:1");
  EXPECT_FALSE(config.has("model.position.theta"));
}

TEST(Config, ExtendsGoneWrong) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.yaml", "seed: 1\nextends: b.yaml\n");
  const auto read_a = [&] { Config::read(a); };
  EXPECT_EQ(error_of<ConfigError>(read_a), a + ":2:10: extends " + folder.path("b.yaml") +
                                               ": cannot read: No such file or directory");
  folder.write("b.yaml", "extends: ./a.yaml\n");
  EXPECT_NE(error_of<ConfigError>(read_a).find("b.yaml:1:10: 'extends' goes round in a circle"),
            std::string::npos);
  folder.write("a.yaml", "extends: [b.yaml]\n");
  EXPECT_NE(error_of<ConfigError>(read_a).find("a.yaml:1:10: 'extends' wants"), std::string::npos);
  // A mistake in the base is reported at its place there.
  folder.write("a.yaml", "extends: b.yaml\n");
  folder.write("b.yaml", "sede: 1\n");
  EXPECT_NE(error_of<ConfigError>([&] {
              TestOptions o;
              Config::read(a).into(o);
            }).find("b.yaml:1:1: unknown key 'sede' (did you mean 'seed'?)"),
            std::string::npos);
}

TEST(Config, FilesThatCannotBeRead) {
  const TemporaryFolder folder;
  const std::string missing = folder.path("none.yaml");
  EXPECT_EQ(error_of<ConfigError>([&] { Config::read(missing); }),
            missing + ": cannot read: No such file or directory");
  EXPECT_NE(error_of<ConfigError>([&] { Config::read(folder.path("")); }).find("a folder"),
            std::string::npos);
  const std::string empty = folder.write("empty.yaml", "");
  EXPECT_EQ(error_of<ConfigError>([&] { Config::read(empty); }), empty + ": the config is empty");
  if (geteuid() != 0) {
    const std::string closed = folder.write("closed.yaml", "seed: 1");
    chmod(closed.c_str(), 0);
    EXPECT_NE(error_of<ConfigError>([&] { Config::read(closed); }).find("Permission denied"),
              std::string::npos);
  }
}

TEST(Config, PlaceAndHas) {
  Config config = Config::parse("model:\n  width: 64\n  position: rope\n", "t.yaml");
  config.set("seed=3");
  EXPECT_TRUE(config.has("model.width"));  // before and after reading
  TestOptions o;
  config.into(o);
  EXPECT_EQ(config.place("model.width"), "t.yaml:2:3");
  EXPECT_EQ(config.place("model.dropout"), "t.yaml:1:1");
  EXPECT_EQ(config.place("model.position.kind"), "t.yaml:3:13");
  EXPECT_EQ(config.place("model.position.scaling.factor"), "t.yaml:3:3");
  EXPECT_EQ(config.place("data.text"), "t.yaml");
  EXPECT_EQ(config.place("seed"), "--set seed=3");
  EXPECT_TRUE(config.has("model.width"));
  EXPECT_TRUE(config.has("model"));
  EXPECT_TRUE(config.has("seed"));
  EXPECT_FALSE(config.has("model.dropout"));
  EXPECT_FALSE(config.has("data"));
}

}  // namespace
}  // namespace tapemeasure::testing
