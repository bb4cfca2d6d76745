// SPDX-License-Identifier: MIT
// Microseconds for one more token, behind a cache of 100 tokens and of 1000, for each position
// method, on one thread, the fastest of many. Counter `ratio` is the time over that behind 100.
#include <benchmark/benchmark.h>

#include <chrono>
#include <map>

#include "app/generator.h"
#include "layers/language_model.h"

namespace tapemeasure {
namespace {

std::unique_ptr<Model> make_model(const std::string& method) {
  Experiment experiment = read_experiment(Config::parse(
      "data: {text: none}\n"
      "model: {layers: 4, width: 128, heads: 4, context: 64, vocabulary: 70, position: {kind: " +
          method + "}}\ntrainer: {threads: 1}\n",
      "bench"));
  return std::make_unique<Model>(experiment, nullptr);
}

void one_token(benchmark::State& state, const std::string& method, int64_t cached) {
  static std::map<std::string, double> first;
  constexpr int64_t kTokens = 20;  // the cache grows by these only
  const auto model = make_model(method);
  double best = 1e9;
  for (auto _ : state) {
    state.PauseTiming();
    Continuation continuation(*model, 1, cached + kTokens);
    continuation.feed({std::vector<int32_t>(static_cast<size_t>(cached), 1)});
    continuation.feed({{2}});
    state.ResumeTiming();
    for (int64_t n = 1; n < kTokens; ++n) {
      const auto begin = std::chrono::steady_clock::now();
      continuation.feed({{static_cast<int32_t>(n)}});
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      best = std::min(best, took.count());
    }
  }
  if (cached == 100) first[method] = best;
  state.counters["us_per_token"] = best * 1e6;
  state.counters["ratio"] = best / first[method];
}

int register_all() {
  for (const auto& method : position_methods()) {
    for (const int64_t cached : {100, 1000}) {
      const std::string name = std::string(method.name) + "/" + std::to_string(cached);
      benchmark::RegisterBenchmark(name.c_str(),
                                   [name = std::string(method.name), cached](auto& state) {
                                     one_token(state, name, cached);
                                   })
          ->Iterations(20)
          ->Unit(benchmark::kMillisecond);
    }
  }
  return 0;
}

[[maybe_unused]] const int kRegistered = register_all();

}  // namespace
}  // namespace tapemeasure
