// SPDX-License-Identifier: MIT
#include "tests/golden/fixture.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/host.h"

namespace tapemeasure::golden {

void FixtureOptions::visit(Fields& f) {
  model.visit(f);
  f.kind("optimizer", optimizer, update_rules(), "");
  f.kind("schedule", schedule, schedules(), "");
  f.section("beam", beam, "");
  f.integer("new_tokens", new_tokens, {0, 1 << 20}, "");
  static const char* const kMasks[] = {"causal", "full", "window"};
  f.choice("mask", mask, kMasks, "");
}

void FixtureOptions::Beam::visit(Fields& f) {
  f.integer("width", width, {0, 1 << 10}, "");
  f.integer("end", end, {0, 1 << 24}, "");
  f.real("length_penalty", length_penalty, {0, 1e3}, "");
}

Fixture::Fixture(const std::string& path)
    : file_(path, false),
      kind_(file_.attribute("kind")),
      config_(file_.attribute("config")),
      tolerance_(file_.number_attribute("tolerance")) {}

FixtureOptions Fixture::options() const {
  FixtureOptions options;
  Config config = Config::parse(config_, file_.path());
  const auto position = nlohmann::json::parse(config_).value("position", nlohmann::json::object());
  // The sources add the sinusoid as it is; the project's default makes it as large as its
  // embeddings.
  if (position.value("kind", "") == "sinusoidal" && !position.contains("scale")) {
    config.set("position.scale=1");
  }
  config.into(options);
  const bool has_model = kind_ == "model" || kind_ == "training" || kind_ == "generation";
  if (has_model) options.model.validate([](const std::string& key) { return key; });
  return options;
}

std::vector<int32_t> Fixture::integers(const std::string& name) const {
  const std::vector<int64_t> wide = file_.integers(name);
  return {wide.begin(), wide.end()};
}

std::vector<std::string> Fixture::names(const std::string& group) const {
  std::vector<std::string> names;
  for (const ArrayInfo& info : file_.list(group))
    names.push_back(info.name.substr(group.size() + 1));
  return names;
}

Tensor Fixture::ids(const std::string& name, Backend& backend) const {
  std::vector<int32_t> ids = integers(name);
  for (int32_t& id : ids) id = std::max(id, -1);
  const std::vector<int64_t> sizes = shape(name);
  Shape shape;
  if (sizes.size() == 1) shape = Shape{sizes[0]};
  if (sizes.size() == 2) shape = Shape{sizes[0], sizes[1]};
  if (sizes.size() == 3) shape = Shape{sizes[0], sizes[1], sizes[2]};
  return to_tensor(backend, shape, ids);
}

void Fixture::load_parameters(ParameterStore& store, const std::string& without) const {
  for (const std::string& name : names("parameter")) {
    const Parameter* parameter = store.find(name);
    ASSERT_NE(parameter, nullptr) << "the model has no parameter " << name;
    const std::vector<double> values = reals("parameter/" + name);
    const Tensor tensor =
        to_tensor(parameter->value.backend(), parameter->shape, parameter->value.dtype(), values);
    tensor.backend().scale(1, tensor, parameter->value);
  }
  for (const Parameter& parameter : store.all()) {
    if (!without.empty() && parameter.name.starts_with(without)) continue;
    EXPECT_TRUE(has("parameter/" + parameter.name)) << "the fixture lacks " << parameter.name;
  }
}

void Fixture::compare(const std::string& name, const std::vector<double>& ours, double bound,
                      double floor) const {
  const std::vector<double> theirs = reals(name);
  ASSERT_EQ(ours.size(), theirs.size()) << name;
  double top = floor, worst = 0;
  size_t where = 0;
  for (size_t i = 0; i < theirs.size(); ++i) {
    top = std::max(top, std::abs(theirs[i]));
    const double difference = std::abs(ours[i] - theirs[i]);
    if (difference <= worst) continue;
    worst = std::isnan(difference) ? INFINITY : difference;
    where = i;
  }
  for (const double x : ours) ASSERT_TRUE(std::isfinite(x)) << name;
  EXPECT_LE(worst, bound * top) << name << "[" << where << "]: ours " << ours[where] << ", theirs "
                                << theirs[where];
}

void Fixture::expect(const std::string& name, const std::vector<double>& ours,
                     const Place& place) const {
  const double bound = std::max(tolerance_, place.output_bound);
  compare("expect/" + name, ours, bound, 1e-6);
}

void Fixture::expect_gradients(ParameterStore& store,
                               const std::map<std::string, std::vector<double>>& inputs,
                               const Place& place) const {
  double largest = 0;
  for (const std::string& name : names("grad")) {
    for (const double x : reals("grad/" + name)) largest = std::max(largest, std::abs(x));
  }
  const double bound = std::max(tolerance_, place.gradient_bound);
  for (const std::string& name : names("grad")) {
    const auto input = inputs.find(name);
    const Parameter* parameter = store.find(name);
    ASSERT_TRUE(parameter != nullptr || input != inputs.end()) << name;
    compare("grad/" + name, parameter ? to_doubles(parameter->gradient) : input->second, bound,
            largest / 10);
  }
}

std::unique_ptr<Model> build_model(const Fixture& fixture, const FixtureOptions& options,
                                   const Place& place) {
  Experiment experiment;
  experiment.model = options.model;
  experiment.trainer.backend = place.backend;
  experiment.trainer.precision = place.dtype == DType::kF64 ? Precision::kF64 : Precision::kF32;
  auto model = std::make_unique<Model>(experiment, nullptr);
  fixture.load_parameters(model->store);
  return model;
}

}  // namespace tapemeasure::golden
