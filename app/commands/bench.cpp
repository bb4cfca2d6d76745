// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "app/bench/step_rates.h"
#include "app/commands/commands.h"
#include "app/commands/numbers.h"
#include "app/corpus.h"
#include "app/costs.h"
#include "app/precision.h"
#include "core/error.h"
#include "core/machine.h"

namespace tapemeasure {

namespace {

struct BenchArguments {
  std::string what = "machine", config, cache = default_cache();
  std::vector<std::string> sets;
  double seconds = 5;
  bool json = false;
};

/// The scale that everything else is read on.
struct Machine {
  std::string description = describe_machine();
  int threads;
  double peak, bf16_peak, bandwidth;

  explicit Machine(int its_threads)
      : threads(its_threads),
        peak(multiply_add_rate(threads, 0.2)),
        bf16_peak(bf16_dot_rate(threads, 0.2)),
        bandwidth(triad_bandwidth(threads, 0.5)) {}
};

void print_machine(const Machine& machine) {
  fmt::print("{}; {} thread{} here\n", machine.description, machine.threads,
             machine.threads == 1 ? "" : "s");
  fmt::print("{:<44} {:>8.1f} GFLOP/s\n", "peak: f32 multiply-adds in registers",
             machine.peak / 1e9);
  if (machine.bf16_peak > 0) {
    fmt::print("{:<44} {:>8.1f} GFLOP/s\n", "peak: bf16 dot products in registers",
               machine.bf16_peak / 1e9);
  }
  fmt::print("{:<44} {:>8.1f} GB/s\n", "memory: triad of 64 MiB arrays", machine.bandwidth / 1e9);
}

void print_step(const Machine& machine, const StepRates& rates, double flops_per_token) {
  fmt::print("\nproducts of one step, M x N x K\n");
  for (const ProductRate& shape : rates.shapes) {
    fmt::print("{:<36} {:>7} {:>8.1f} GFLOP/s {:>5.0f} % of the peak\n", shape.product.str(),
               fmt::format("x {}", shape.calls), shape.rate() / 1e9,
               100 * shape.rate() / machine.peak);
  }
  const double rate = rates.tokens_per_second(), flops = rate * flops_per_token;
  fmt::print("\n{:<44} {:>8.2f} ms {:>9.0f} tokens/s\n", "a whole step", 1e3 * rates.step, rate);
  fmt::print("{:<44} {:>8.1f} GFLOP/s {:>5.0f} % of the peak\n",
             "its model's products, attention included", flops / 1e9, 100 * flops / machine.peak);
  const double alone = rates.operations / rates.products;
  fmt::print("{:<44} {:>8.2f} ms {:>9.1f} GFLOP/s {:>5.0f} % of the peak\n",
             "its matrix products alone", 1e3 * rates.products, alone / 1e9,
             100 * alone / machine.peak);
  fmt::print("{:<44} {:>8.2f}\n", "whole / products", rates.ratio());
  fmt::print("{:<44} {:>8}\n", "most memory of the process", bytes_text(rates.peak_memory));
}

nlohmann::ordered_json json_of(const Machine& machine) {
  return {{"machine", machine.description},
          {"threads", machine.threads},
          {"peak_flops", machine.peak},
          {"bf16_peak_flops", machine.bf16_peak},
          {"bandwidth", machine.bandwidth}};
}

nlohmann::ordered_json json_of(const StepRates& rates, double flops_per_token) {
  auto products = nlohmann::ordered_json::array();
  for (const ProductRate& shape : rates.shapes) {
    products.push_back({{"product", shape.product.str()},
                        {"calls", shape.calls},
                        {"seconds", shape.seconds},
                        {"flops", shape.rate()}});
  }
  return {{"step_seconds", rates.step},
          {"product_seconds", rates.products},
          {"whole_over_products", rates.ratio()},
          {"tokens_per_second", rates.tokens_per_second()},
          {"model_flops_per_token", flops_per_token},
          {"peak_memory_bytes", rates.peak_memory},
          {"products", std::move(products)}};
}

/// The experiment of a config, ready to be trained, and what it reads.
struct Body {
  Experiment experiment;
  Corpus corpus;

  explicit Body(const BenchArguments& arguments)
      : experiment(experiment_of(arguments)), corpus(corpus_of(experiment, arguments)) {
    settle_vocabulary(experiment, corpus);
    settle_precision(experiment.trainer);
  }

 private:
  static Experiment experiment_of(const BenchArguments& arguments) {
    Config config = Config::read(arguments.config);
    for (const std::string& assignment : arguments.sets) config.set(assignment);
    return read_experiment(config);
  }
  static Corpus corpus_of(const Experiment& experiment, const BenchArguments& arguments) {
    std::vector<std::string> notices;  // about the text, which is no matter here
    return read_corpus(experiment, arguments.cache, notices);
  }
};

int run(const BenchArguments& arguments) {
  const bool step = arguments.what == "step";
  check<ConfigError>(step || (arguments.config.empty() && arguments.sets.empty()),
                     "a config and --set go with: bench step CONFIG");
  check<ConfigError>(!step || !arguments.config.empty(),
                     "bench step wants a config, as in: bench step configs/bench.yaml");
  std::optional<Body> body;
  if (step) body.emplace(arguments);
  const Machine machine(static_cast<int>(
      body ? body->experiment.trainer.threads.value_or(default_threads()) : default_threads()));
  if (!arguments.json) print_machine(machine);
  nlohmann::ordered_json root = json_of(machine);
  if (body) {
    flush_output();
    const StepRates rates = measure_step(body->experiment, body->corpus, arguments.seconds);
    const double flops = costs_of(body->experiment).flops_per_token;
    if (!arguments.json) print_step(machine, rates, flops);
    root["step"] = json_of(rates, flops);
  }
  if (arguments.json) fmt::print("{}\n", root.dump(2));
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand(
      "bench", "Measure this machine's peak, and how near a config's training steps come to it");
  auto a = std::make_shared<BenchArguments>();
  verb->add_option("what", a->what, "machine: its peak; step: that, and the steps of a config")
      ->check(CLI::IsMember({"machine", "step"}))
      ->capture_default_str();
  verb->add_option("config", a->config, "whose steps to time");
  verb->add_option("--set", a->sets, "KEY=VALUE: change a key of the config");
  verb->add_option("--seconds", a->seconds, "how long to time steps")
      ->check(number_between(0, 3600))
      ->capture_default_str();
  verb->add_flag("--json", a->json, "print JSON");
  verb->add_option("--cache", a->cache, "where prepared texts are kept")->capture_default_str();
  verb->callback([a, &action] { action = [a] { return run(*a); }; });
}

}  // namespace tapemeasure
