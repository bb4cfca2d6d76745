// SPDX-License-Identifier: MIT
// Small options structs with every kind of field, nested kinds included, and ways to read
// them, for the config tests.
#pragma once

#include <gtest/gtest.h>

#include "core/config/config.h"
#include "core/error.h"

namespace tapemeasure::testing {

struct LinearScaling : KindOptions {
  double factor = 2;
  void visit(Fields& f) override { f.real("factor", factor, {1, 1000}, "stretch of positions"); }
};

struct YarnScaling : KindOptions {
  double factor = 4;
  int64_t original_length = 1024;
  std::vector<double> ramp = {32, 1};
  std::optional<double> attention_factor;
  void visit(Fields& f) override {
    f.real("factor", factor, {1, 1000}, "stretch of positions");
    f.integer("original_length", original_length, {1, 1 << 24}, "trained length", "tokens");
    f.reals("ramp", ramp, {0, 1e6}, "turns where the ramp begins and ends");
    f.real("attention_factor", attention_factor, {0, 100}, "0.1 ln factor + 1", "scale of cosines");
  }
};

struct NoOptions : KindOptions {
  void visit(Fields&) override {}
};

template <class Options>
std::unique_ptr<KindOptions> make_options() {
  return std::make_unique<Options>();
}

inline constexpr Kind<KindOptions> kScalings[] = {
    {"none", "as trained", make_options<NoOptions>},
    {"linear", "positions divided", make_options<LinearScaling>},
    {"yarn", "by frequency", make_options<YarnScaling>},
};

struct ShawOptions : KindOptions {
  int64_t max_distance = 16;
  bool on_values = true;
  void visit(Fields& f) override {
    f.integer("max_distance", max_distance, {1, 4096}, "distances beyond share a vector", "tokens");
    f.boolean("on_values", on_values, "relative vectors on the values too");
  }
};

struct RopeOptions : KindOptions {
  double theta = 10000;
  Chosen<KindOptions> scaling{"none", nullptr};
  void visit(Fields& f) override {
    f.real("theta", theta, {1, kAnyReal}, "base of the wavelengths");
    f.kind<KindOptions>("scaling", scaling, kScalings, "stretching to longer texts");
  }
};

inline constexpr Kind<KindOptions> kPositions[] = {
    {"none", "no position", make_options<NoOptions>},
    {"shaw", "relative vectors", make_options<ShawOptions>},
    {"rope", "rotations", make_options<RopeOptions>},
};

inline constexpr const char* kModelKinds[] = {"decoder", "encoder"};
inline constexpr const char* kActivations[] = {"relu", "gelu", "silu"};
inline constexpr const char* kScales[] = {"rsqrt"};
inline constexpr const char* kLinears[] = {"query", "key", "value"};
enum class Activation { kRelu, kGelu, kSilu };

struct ModelOptions {
  int kind = 0;
  int64_t width = 128;
  std::optional<int64_t> head_width;
  std::optional<bool> final_norm;
  Activation activation = Activation::kGelu;
  std::string scale_word = "rsqrt";
  double scale = 0;
  bool bias = true;
  std::vector<std::string> biased;
  double dropout = 0.1;
  Chosen<KindOptions> position{"shaw", nullptr};
  void visit(Fields& f) {
    f.choice("kind", kind, kModelKinds, "which way it looks");
    f.integer("width", width, {1, 65536}, "of the residual stream");
    f.integer("head_width", head_width, {1, 65536}, "width / heads", "of one head");
    f.boolean("final_norm", final_norm, "true for pre", "a norm at the end");
    f.choose("activation", activation, kActivations, "between the linears");
    f.word_or_real("attention_scale", scale_word, scale, kScales, "of the logits");
    f.boolean_or_names("bias", bias, biased, kLinears, "linears with a bias");
    f.real("dropout", dropout, {0, 1}, "share that is dropped");
    f.kind<KindOptions>("position", position, kPositions, "how positions are told");
  }
};

struct DataOptions {
  std::string text;
  std::vector<int64_t> split = {90, 5, 5};
  std::vector<std::string> tags;
  void visit(Fields& f) {
    f.text("text", text, "the file");
    f.integers("split", split, {0, 100}, "shares of train, valid, test", "%");
    f.texts("tags", tags, "names for people");
  }
};

struct OptimizerOptions {
  double learning_rate = 1e-3;
  void visit(Fields& f) { f.real("learning_rate", learning_rate, {0, 10}, "the highest rate"); }
};

struct TestOptions {
  ModelOptions model;
  DataOptions data;
  OptimizerOptions optimizer;
  int64_t seed = 1;
  void visit(Fields& f) {
    f.section("model", model, "the network");
    f.section("data", data, "what it reads");
    f.section("optimizer", optimizer, "how it learns");
    f.integer("seed", seed, {INT64_MIN, INT64_MAX}, "of all that is random");
  }
};

inline TestOptions read(const std::string& text, const std::vector<std::string>& sets = {}) {
  Config config = Config::parse(text, "t.yaml");
  for (const std::string& set : sets) config.set(set);
  TestOptions options;
  config.into(options);
  return options;
}

// The message that reading gives, or "" when all is well.
inline std::string message(const std::string& text, const std::vector<std::string>& sets = {}) {
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

}  // namespace tapemeasure::testing
