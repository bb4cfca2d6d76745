// SPDX-License-Identifier: MIT
// Fixtures of parts: optimizers, schedules, sinusoids, adaptive softmax.
#include "core/host.h"
#include "layers/vocabulary.h"
#include "tests/golden/fixture.h"

namespace tapemeasure::golden {

void run_optimizer(const Fixture& fixture, const Place& place) {
  const FixtureOptions options = fixture.options();
  const auto backend = make_backend(place.backend);
  ParameterStore store;
  const Scope root(store);
  const std::vector<std::string> names = fixture.names("parameter");
  for (const std::string& name : names) {
    const std::vector<int64_t> sizes = fixture.shape("parameter/" + name);
    const Shape shape = sizes.size() == 1 ? Shape{sizes[0]} : Shape{sizes[0], sizes[1]};
    root.parameter(name, shape, Init::zeros(), sizes.size() == 1 ? Role::kBias : Role::kLinear);
  }
  store.allocate(*backend, place.dtype, 1);
  fixture.load_parameters(store);
  Optimizer optimizer(*options.optimizer.options, store);
  const int64_t steps = fixture.shape("input/gradient/" + names[0])[0];
  std::vector<double> rates;
  for (int64_t step = 0; step < steps; ++step) {
    for (Parameter& parameter : store.all()) {
      const std::vector<double> all = fixture.reals("input/gradient/" + parameter.name);
      const int64_t count = parameter.shape.count();
      const Tensor now = to_tensor(*backend, parameter.shape, place.dtype,
                                   std::span(all).subspan(size_t(step * count), size_t(count)));
      backend->scale(1, now, parameter.gradient);
    }
    const double rate =
        options.optimizer.options->peak_rate() * options.schedule.options->factor(step);
    rates.push_back(optimizer.step(rate, optimizer.gradient_norm()));
    const std::string group = "step_" + std::to_string(step + 1);
    if (!fixture.has("expect/" + group)) continue;
    for (const std::string& name : fixture.names("expect/" + group)) {
      fixture.expect(group + "/" + name, to_doubles(store.find(name)->value), place);
    }
  }
  for (const std::string& name : fixture.names("expect/final")) {
    fixture.expect("final/" + name, to_doubles(store.find(name)->value), place);
  }
  if (fixture.has("expect/rates")) fixture.expect("rates", rates, place);
}

void run_schedule(const Fixture& fixture, const Place& place) {
  const FixtureOptions options = fixture.options();
  std::vector<double> rates;
  for (int64_t step = 0; step < fixture.shape("expect/rates")[0]; ++step) {
    rates.push_back(options.optimizer.options->peak_rate() *
                    options.schedule.options->factor(step));
  }
  fixture.expect("rates", rates, place);
}

void run_positions(const Fixture& fixture, const Place& place) {
  const FixtureOptions options = fixture.options();
  const auto backend = make_backend(place.backend);
  const std::vector<int64_t> shape = fixture.shape("expect/table");
  ParameterStore store;
  const auto method = options.model.position.options->build(options.model, Scope(store));
  Tape tape(false);
  tapemeasure::Run run(tape);
  // What is added to embeddings of 0 is the table itself.
  const Variable none(zeros(*backend, {1, shape[0], shape[1]}, place.dtype));
  fixture.expect("table", to_doubles(method->embed(run, none, 0).value()), place);
}

void run_softmax(const Fixture& fixture, const Place& place) {
  const FixtureOptions options = fixture.options();
  const auto backend = make_backend(place.backend);
  ParameterStore store;
  const auto vocabulary = make_vocabulary(options.model, Scope(store));
  store.allocate(*backend, place.dtype, 1);
  // Untied, the head needs no input, and the fixture has none.
  fixture.load_parameters(store, options.model.adaptive_softmax.tied ? "" : "embedding.");
  const std::vector<int64_t> shape = fixture.shape("input/x");
  Tape tape;
  tapemeasure::Run run(tape, true);
  const Variable x = tape.input(
      to_tensor(*backend, {1, shape[0], shape[1]}, place.dtype, fixture.reals("input/x")));
  const CrossEntropy result = vocabulary->loss(run, x, fixture.ids("input/targets", *backend),
                                               {.factor = 1 / static_cast<double>(shape[0])});
  fixture.expect("losses", to_doubles(result.losses), place);
  tape.backward(result.loss);
  store.complete_gradients();
  fixture.expect_gradients(store, {{"x", to_doubles(tape.gradient(x))}}, place);
}

}  // namespace tapemeasure::golden
