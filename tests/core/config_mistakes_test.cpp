// SPDX-License-Identifier: MIT
// What is said of a wrong config: one line with the place, whatever the text is.
#include <gtest/gtest.h>

#include <random>

#include "core/config/config.h"
#include "core/error.h"
#include "tests/core/config_options.h"

namespace tapemeasure::testing {
namespace {

TEST(ConfigMistakes, WrongNumbers) {
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

TEST(ConfigMistakes, WrongTypes) {
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
TEST(ConfigMistakes, UnknownKeys) {
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

TEST(ConfigMistakes, ReportsTheFirstProblemOfTheFile) {
  EXPECT_EQ(message("seed: x\nmodel: {width: y}").substr(0, 11), "t.yaml:1:7:");
  EXPECT_EQ(message("modle: 1\nseed: x").substr(0, 11), "t.yaml:1:1:");
  EXPECT_EQ(message("seed: x", {"seed=y", "sed=1"}).substr(0, 12), "--set seed=y");
  // A wrong kind leaves the other keys of its section unjudged.
  EXPECT_EQ(message("model: {position: {theta: 1, kind: rop}}"),
            "t.yaml:1:36: 'model.position.kind' wants one of none, shaw, rope, found rop (did you "
            "mean 'rope'?)");
}

TEST(ConfigMistakes, RefusesRepeatedKeys) {
  EXPECT_EQ(message("seed: 1\nmodel: {width: 1}\nseed: 2"),
            "t.yaml:3:1: key 'seed' is given twice (first at t.yaml:1:1)");
  EXPECT_EQ(message("model:\n  position:\n    kind: rope\n    kind: shaw"),
            "t.yaml:4:5: key 'model.position.kind' is given twice (first at t.yaml:3:5)");
  EXPECT_EQ(message("data: {tags: [{a: 1, a: 2}]}").substr(0, 12), "t.yaml:1:22:");
}

TEST(ConfigMistakes, RefusesWhatIsNotYaml) {
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

// R30 for configs: whatever a file holds, reading it ends with options or with a ConfigError.
TEST(ConfigMistakes, MutatedTextsNeverCrash) {
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
