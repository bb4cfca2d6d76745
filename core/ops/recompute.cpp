// SPDX-License-Identifier: MIT
#include <vector>

#include "core/error.h"
#include "core/ops.h"

namespace tapemeasure {

Variable recomputed(Run& run, std::span<const Variable> inputs,
                    std::function<Variable(Run&, std::span<const Variable>)> body) {
  const auto detached = [](std::span<const Variable> variables) {
    std::vector<Variable> values;
    for (const Variable& variable : variables) values.push_back(variable.detached());
    return values;
  };
  Tape forgetful(false);
  auto inner = std::make_unique<Tape>(true, run.tape.trace());
  const Run before = run.on(*inner);
  Run first = run.on(forgetful);
  std::vector<Variable> values = detached(inputs);
  const Tensor output = body(first, values).value();
  run.follow(first);
  return run.tape.record("recomputed", output, inputs,
                         [before, inner = std::move(inner), values = std::move(values),
                          body = std::move(body)](Gradients& g) {
                           Run again = before;
                           std::vector<Variable> leaves;
                           for (size_t i = 0; i < values.size(); ++i) {
                             const int input = static_cast<int>(i);
                             const Into gradient = g.wanted(input) ? g.input(input) : Into();
                             leaves.push_back(inner->input(values[i].value(), gradient));
                           }
                           inner->backward(body(again, leaves), g.output());
                         });
}

}  // namespace tapemeasure
