// SPDX-License-Identifier: MIT
// One golden fixture: its config and arrays, how to build what it needs, and how to compare.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/learner.h"
#include "core/config/config.h"
#include "core/file/hdf5_file.h"

namespace tapemeasure::golden {

/// Where a fixture runs: the reference in f64, cpu in f32, or cpu with products of bf16. The bounds
/// are what goldens/README.md grants beyond the fixture's own.
struct Place {
  const char* backend;
  DType dtype;
  double output_bound, gradient_bound;
};

/// The config of a fixture: a model's keys at the root, beside those of its kind.
struct FixtureOptions {
  ModelOptions model;
  Chosen<UpdateRuleOptions> optimizer{"adamw", nullptr};
  Chosen<ScheduleOptions> schedule{"constant", nullptr};
  int64_t new_tokens = 0;
  struct Beam {
    int64_t width = 0, end = 0;  // width 0: none
    double length_penalty = 1;
    void visit(Fields& f);
  } beam;
  int mask = 0;  // of an attention: causal, full, window

  void visit(Fields& f);
};

class Fixture {
 public:
  explicit Fixture(const std::string& path);

  const std::string& kind() const { return kind_; }
  const std::string& config_text() const { return config_; }
  /// Parses the config. Throws ConfigError on a key that the program does not know.
  FixtureOptions options() const;

  bool has(const std::string& name) const { return file_.has(name); }
  std::vector<int64_t> shape(const std::string& name) const { return file_.info(name).shape; }
  std::vector<double> reals(const std::string& name) const { return file_.reals(name); }
  std::vector<int32_t> integers(const std::string& name) const;
  /// Names below a group, without it: "parameter" -> "embedding.weight", ...
  std::vector<std::string> names(const std::string& group) const;

  /// Ids as an i32 tensor; -100 becomes "not scored".
  Tensor ids(const std::string& name, Backend& backend) const;
  /// Copies "parameter/*" over the parameters of `store`; every one must be there and fit, but for
  /// those whose names begin with `without`.
  void load_parameters(ParameterStore& store, const std::string& without = "") const;

  /// Compares an array under expect/.
  void expect(const std::string& name, const std::vector<double>& ours, const Place& place) const;
  /// Compares every array under grad/ with the gradients of `store` (and of `inputs`, by name).
  void expect_gradients(ParameterStore& store,
                        const std::map<std::string, std::vector<double>>& inputs,
                        const Place& place) const;

 private:
  void compare(const std::string& name, const std::vector<double>& ours, double bound,
               double floor) const;
  Hdf5Reader file_;
  std::string kind_, config_;
  double tolerance_;
};

/// A model as the fixture's config says, with its parameters.
std::unique_ptr<Model> build_model(const Fixture& fixture, const FixtureOptions& options,
                                   const Place& place);

// One runner per kind.
void run_attention(const Fixture& fixture, const Place& place);
void run_model(const Fixture& fixture, const Place& place);
void run_training(const Fixture& fixture, const Place& place);
void run_generation(const Fixture& fixture, const Place& place);
void run_optimizer(const Fixture& fixture, const Place& place);
void run_schedule(const Fixture& fixture, const Place& place);
void run_softmax(const Fixture& fixture, const Place& place);
void run_positions(const Fixture& fixture, const Place& place);

}  // namespace tapemeasure::golden
