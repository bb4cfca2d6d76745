// SPDX-License-Identifier: MIT
#include "app/bench/step_rates.h"

#include <algorithm>
#include <chrono>

#include "app/learner.h"
#include "core/error.h"
#include "core/machine.h"

namespace tapemeasure {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// A product of a step with operands of its own.
class Replay {
 public:
  Replay(Backend& backend, DType dtype, const Product& product)
      : how_{.transpose_a = product.transpose_a,
             .transpose_b = product.transpose_b,
             .scale = product.scale},
        a_(filled(backend, dtype, product.M, product.K, product.transpose_a)),
        b_(filled(backend, dtype, product.K, product.N, product.transpose_b)),
        c_(filled(backend, dtype, product.M, product.N, false)),
        write_(product.add ? Write::kAdd : Write::kSet) {
    if (product.bias) how_.bias = filled(backend, dtype, 1, product.N, false).reshaped({product.N});
  }

  void run(Backend& backend) const { backend.gemm(how_, a_, b_, {c_, write_}); }

 private:
  /// Small enough that sums of many calls stay finite.
  static Tensor filled(Backend& backend, DType dtype, int64_t rows, int64_t columns,
                       bool transposed) {
    Tensor matrix = empty(backend, transposed ? Shape{columns, rows} : Shape{rows, columns}, dtype);
    backend.fill({matrix, Write::kSet}, 1e-3);
    return matrix;
  }

  Gemm how_;
  Tensor a_, b_, c_;
  Write write_;
};

/// The products of one step, in order, each an index into `shapes`.
struct Products {
  std::vector<ProductRate> shapes;
  std::vector<size_t> order;

  explicit Products(const Trace& trace) {
    for (const Trace::Interval& interval : trace.intervals()) {
      if (!interval.product) continue;
      const auto same = std::find_if(shapes.begin(), shapes.end(), [&](const ProductRate& shape) {
        return shape.product == *interval.product;
      });
      order.push_back(static_cast<size_t>(same - shapes.begin()));
      if (same == shapes.end()) shapes.push_back({.product = *interval.product});
      ++shapes[order.back()].calls;
    }
  }
};

double time_of_step(Learner& learner) {
  const auto begin = Clock::now();
  const StepReport report = learner.step();
  check<NonFiniteError>(report.nonfinite.empty(), "{} is not finite while a step was timed",
                        report.nonfinite);
  return seconds_since(begin);
}

}  // namespace

StepRates measure_step(const Experiment& experiment, const Corpus& corpus, double seconds) {
  constexpr int kWarm = 2, kFewest = 5;
  Trace trace;
  Model model(experiment, corpus.tokenizer, &trace);
  Learner learner(experiment, model, corpus, &trace);
  for (int i = 0; i < kWarm; ++i) learner.step();
  trace.start();
  learner.step();
  trace.stop();
  Products products(trace);
  std::vector<Replay> replays;
  for (const ProductRate& shape : products.shapes) {
    replays.emplace_back(*model.backend, model.dtype, shape.product);
    replays.back().run(*model.backend);
  }

  std::vector<double> steps, alone;
  std::vector<std::vector<double>> calls(replays.size());
  const auto begin = Clock::now();
  while (steps.size() < kFewest || seconds_since(begin) < seconds) {
    steps.push_back(time_of_step(learner));
    const auto round = Clock::now();
    for (const size_t shape : products.order) {
      const auto call = Clock::now();
      replays[shape].run(*model.backend);
      calls[shape].push_back(seconds_since(call));
    }
    alone.push_back(seconds_since(round));
  }

  StepRates rates{.step = median(steps),
                  .products = median(alone),
                  .tokens = experiment.trainer.batch_tokens,
                  .peak_memory = peak_resident_bytes(),
                  .shapes = std::move(products.shapes)};
  for (size_t i = 0; i < rates.shapes.size(); ++i) {
    ProductRate& shape = rates.shapes[i];
    shape.seconds = median(calls[i]);
    rates.operations += static_cast<double>(shape.calls) * shape.product.operations();
  }
  std::stable_sort(
      rates.shapes.begin(), rates.shapes.end(), [](const ProductRate& a, const ProductRate& b) {
        return static_cast<double>(a.calls) * a.seconds > static_cast<double>(b.calls) * b.seconds;
      });
  return rates;
}

}  // namespace tapemeasure
