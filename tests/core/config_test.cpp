// SPDX-License-Identifier: MIT
// Reading configs: values, kinds, extends, --set, and above all what is said of a wrong one.
#include "core/config/config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>

#include "core/config/scalar.h"
#include "core/error.h"
#include "tests/core/config_options.h"
#include "tests/core/temporary_folder.h"

namespace tapemeasure::testing {
namespace {

namespace fs = std::filesystem;

TestOptions read(const std::string& text, const std::vector<std::string>& sets = {}) {
  Config config = Config::parse(text, "t.yaml");
  for (const std::string& set : sets) config.set(set);
  TestOptions options;
  config.into(options);
  return options;
}

// The message that reading gives, or "" when all is well.
std::string message(const std::string& text, const std::vector<std::string>& sets = {}) {
  try {
    read(text, sets);
    return "";
  } catch (const ConfigError& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    return e.what();
  }
}

template <class Options>
const Options& options_of(const Chosen<KindOptions>& chosen) {
  return dynamic_cast<const Options&>(*chosen.options);
}

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

TEST(Config, WrongNumbers) {
  EXPECT_EQ(message("seed: 1.5"), "t.yaml:1:7: 'seed' wants an integer, found 1.5");
  EXPECT_EQ(message("seed: \"5\""), "t.yaml:1:7: 'seed' wants an integer, found the text \"5\"");
  EXPECT_EQ(message("seed: 1_000"), "t.yaml:1:7: 'seed' wants an integer, found 1_000");
  EXPECT_EQ(message("seed: true"), "t.yaml:1:7: 'seed' wants an integer, found true");
  EXPECT_EQ(message("seed: [1]"), "t.yaml:1:7: 'seed' wants an integer, found a list");
  EXPECT_EQ(message("seed: {a: 1}"), "t.yaml:1:7: 'seed' wants an integer, found a section");
  EXPECT_EQ(message("seed:"), "t.yaml:1:1: 'seed' wants an integer, found nothing");
  EXPECT_EQ(message("seed: 9223372036854775808"),
            "t.yaml:1:7: 'seed' is out of range: 9223372036854775808");
  EXPECT_EQ(message("model: {width: 0}"),
            "t.yaml:1:16: 'model.width' is out of range 1 ... 65536: 0");
  EXPECT_EQ(message("model: {dropout: 1.01}"),
            "t.yaml:1:18: 'model.dropout' is out of range 0 ... 1: 1.01");
  for (const char* bad : {"nan", ".nan", "inf", "-.inf", "1e400", "x", "0x10", "1e", "--1", "."})
    EXPECT_NE(message(fmt::format("optimizer: {{learning_rate: {}}}", bad)), "") << bad;
  for (const char* bad : {"1e30", "nan", ".inf", "0x", "", "+", "-", "1 2", "0x1p3", "0xg"})
    EXPECT_NE(message(fmt::format("seed: {}", bad)), "") << bad;
}

TEST(Config, WrongTypes) {
  EXPECT_EQ(message("model:\n  final_norm: 1"),
            "t.yaml:2:15: 'model.final_norm' wants true or false, found 1");
  EXPECT_EQ(message("model: {activation: gelo}"),
            "t.yaml:1:21: 'model.activation' wants one of relu, gelu, silu, found gelo (did you "
            "mean 'gelu'?)");
  EXPECT_EQ(message("model: {bias: [query, qey]}"),
            "t.yaml:1:23: 'model.bias' wants names of query, key, value, found qey (did you mean "
            "'key'?)");
  EXPECT_NE(message("model: {bias: [query, query]}"), "");
  EXPECT_NE(message("model: {attention_scale: nan}"), "");
  EXPECT_EQ(message("model: 5"),
            "t.yaml:1:8: 'model' wants a section or one of decoder, encoder, found 5");
  EXPECT_EQ(message("data: 5"), "t.yaml:1:7: 'data' wants a section, found 5");
  EXPECT_EQ(message("data: [5]"), "t.yaml:1:7: 'data' wants a section, found a list");
  EXPECT_EQ(message("data: {text: [a]}"), "t.yaml:1:14: 'data.text' wants a text, found a list");
  EXPECT_EQ(message("data: {split: {a: 1}}"),
            "t.yaml:1:15: 'data.split' wants a list, found a section");
  EXPECT_EQ(message("data: {split: [90, -5]}"),
            "t.yaml:1:20: 'data.split' is out of range 0 ... 100: -5");
}

// R145: an unknown key at any depth, in the file and on the command line.
TEST(Config, UnknownKeys) {
  EXPECT_EQ(message("model:\n  widht: 64"),
            "t.yaml:2:3: unknown key 'model.widht' (did you mean 'model.width'?)");
  EXPECT_EQ(message("learning_rate: 1"),
            "t.yaml:1:1: unknown key 'learning_rate' (did you mean 'optimizer.learning_rate'?)");
  EXPECT_EQ(message("model: {position: {scaling: {factor: 2}}}"),
            "t.yaml:1:20: 'model.position.scaling' belongs to position.kind rope, here it is shaw");
  EXPECT_EQ(message("model: {position: {theta: 2}}"),
            "t.yaml:1:20: 'model.position.theta' belongs to position.kind rope, here it is shaw");
  EXPECT_EQ(message("model: {position: {kind: rope, scaling: {factor: 2}}}"),
            "t.yaml:1:42: 'model.position.scaling.factor' belongs to scaling.kind linear or yarn, "
            "here it is none");
  EXPECT_EQ(message("zzzzzz: {a: 1}"), "t.yaml:1:1: unknown key 'zzzzzz'");
  EXPECT_EQ(message("", {"model.widht=64"}).substr(0, 6), "t.yaml");
  EXPECT_EQ(message("seed: 1", {"model.widht=64"}),
            "--set model.widht=64: unknown key 'model.widht' (did you mean 'model.width'?)");
  EXPECT_EQ(message("seed: 1", {"model={layers: {a: 1}}"}),
            "--set model={layers: {a: 1}}: unknown key 'model.layers'");
  EXPECT_EQ(message("seed: 1", {"seed.x=1"}),
            "--set seed.x=1: 'seed' wants an integer, found a "
            "section");
}

TEST(Config, ReportsTheFirstProblemOfTheFile) {
  EXPECT_EQ(message("seed: x\nmodel: {width: y}").substr(0, 11), "t.yaml:1:7:");
  EXPECT_EQ(message("modle: 1\nseed: x").substr(0, 11), "t.yaml:1:1:");
  EXPECT_EQ(message("seed: x", {"seed=y", "sed=1"}).substr(0, 12), "--set seed=y");
  // A wrong kind leaves the other keys of its section unjudged.
  EXPECT_EQ(message("model: {position: {theta: 1, kind: rop}}"),
            "t.yaml:1:36: 'model.position.kind' wants one of none, shaw, rope, found rop (did you "
            "mean 'rope'?)");
}

TEST(Config, RefusesRepeatedKeys) {
  EXPECT_EQ(message("seed: 1\nmodel: {width: 1}\nseed: 2"),
            "t.yaml:3:1: key 'seed' is given twice (first at t.yaml:1:1)");
  EXPECT_EQ(message("model:\n  position:\n    kind: rope\n    kind: shaw"),
            "t.yaml:4:5: key 'model.position.kind' is given twice (first at t.yaml:3:5)");
  EXPECT_EQ(message("data: {tags: [{a: 1, a: 2}]}").substr(0, 12), "t.yaml:1:22:");
}

TEST(Config, RefusesWhatIsNotYaml) {
  EXPECT_EQ(message("seed: [1"), "t.yaml:1:1: not YAML: end of sequence flow not found");
  EXPECT_EQ(message("model:\n\twidth: 1"), "t.yaml:2:7: not YAML: indented with a tab: use spaces");
  EXPECT_EQ(message(""), "t.yaml: the config is empty");
  EXPECT_EQ(message("# nothing\n\n"), "t.yaml: the config is empty");
  EXPECT_NE(message("just words").find("found just words"), std::string::npos);
  EXPECT_NE(message("- a\n- b").find("found a list"), std::string::npos);
  EXPECT_EQ(message("seed: 1\n---\nseed: 2").substr(0, 20), "t.yaml:2:1: a second");
  EXPECT_NE(message("model.width: 5").find("t.yaml:1:1: key 'model.width'"), std::string::npos);
  EXPECT_EQ(message(": 5"), "t.yaml:1:1: a key must be a word");
  EXPECT_NE(message("[a]: 5").find("a key must be a word"), std::string::npos);
  EXPECT_NE(message(std::string(100000, '[')), "");
  EXPECT_NE(message("a: &x [*x]"), "");
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) bomb += fmt::format("a{}: &a{} [*a{}, *a{}]\n", i, i, i - 1, i - 1);
  EXPECT_NE(message(bomb).find("more than 100000 values"), std::string::npos);
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

template <class Action>
std::string error_of(Action action) {
  try {
    action();
    return "";
  } catch (const ConfigError& e) {
    return e.what();
  }
}

TEST(Config, ExtendsGoneWrong) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.yaml", "seed: 1\nextends: b.yaml\n");
  const auto read_a = [&] { Config::read(a); };
  EXPECT_EQ(error_of(read_a), a + ":2:10: extends " + folder.path("b.yaml") +
                                  ": cannot read: No such file or directory");
  folder.write("b.yaml", "extends: ./a.yaml\n");
  EXPECT_NE(error_of(read_a).find("b.yaml:1:10: 'extends' goes round in a circle"),
            std::string::npos);
  folder.write("a.yaml", "extends: [b.yaml]\n");
  EXPECT_NE(error_of(read_a).find("a.yaml:1:10: 'extends' wants"), std::string::npos);
  // A mistake in the base is reported at its place there.
  folder.write("a.yaml", "extends: b.yaml\n");
  folder.write("b.yaml", "sede: 1\n");
  EXPECT_NE(error_of([&] {
              TestOptions o;
              Config::read(a).into(o);
            }).find("b.yaml:1:1: unknown key 'sede' (did you mean 'seed'?)"),
            std::string::npos);
}

TEST(Config, FilesThatCannotBeRead) {
  const TemporaryFolder folder;
  const std::string missing = folder.path("none.yaml");
  EXPECT_EQ(error_of([&] { Config::read(missing); }),
            missing + ": cannot read: No such file or directory");
  EXPECT_NE(error_of([&] { Config::read(folder.path("")); }).find("a folder"), std::string::npos);
  const std::string empty = folder.write("empty.yaml", "");
  EXPECT_EQ(error_of([&] { Config::read(empty); }), empty + ": the config is empty");
  if (geteuid() != 0) {
    const std::string closed = folder.write("closed.yaml", "seed: 1");
    chmod(closed.c_str(), 0);
    EXPECT_NE(error_of([&] { Config::read(closed); }).find("Permission denied"), std::string::npos);
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

// R147: the dump, fed back, gives the identical dump.
TEST(Config, WritesWhatItReads) {
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

TEST(Config, EmptySectionsAreWrittenToo) {
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

TEST(Config, DoublesReadBackToTheSameBits) {
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

TEST(Config, ListsValuesWithOrigins) {
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
TEST(Config, ListsAllKeys) {
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

TEST(Config, Nearest) {
  const std::vector<std::string> words = {"layers", "width", "kind"};
  EXPECT_EQ(nearest("layer", words), "layers");
  EXPECT_EQ(nearest("wdith", words), "width");
  EXPECT_EQ(nearest("xyz", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest("x", {"y"}), "");
}

// R30 for configs: whatever a file holds, reading it ends with options or with a ConfigError.
TEST(Config, MutatedTextsNeverCrash) {
  const std::string valid = R"(# A run.
model:
  kind: encoder
  width: &w 64
  bias: [query, "value"]
  position: {kind: rope, theta: 5e4, scaling: {kind: yarn, ramp: [7, 1]}}
data:
  text: 'it''s'
  split: [80, 10, 10]
  tags:
    - a
    - "b\n"
optimizer: {learning_rate: 1e-5}
seed: *w
)";
  std::mt19937 random(7);
  const std::string alphabet =
      "{}[]:,-#&*!|>'\"%@`\t\n \\?~.=\x01\x7f\xff" + std::string(1, '\0') + "ae1";
  int failed = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string text = valid;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text.erase(at, 1 + random() % 3);
          break;
        case 1:
          text.insert(at, 1, alphabet[random() % alphabet.size()]);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
          break;
        default:
          text[at] = alphabet[random() % alphabet.size()];
      }
    }
    try {
      TestOptions o;
      Config::parse(text, "t.yaml").into(o);
    } catch (const ConfigError& e) {
      ++failed;
      ASSERT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    }
  }
  EXPECT_GT(failed, 3000);
  EXPECT_LT(failed, 5900);
}

}  // namespace
}  // namespace tapemeasure::testing
