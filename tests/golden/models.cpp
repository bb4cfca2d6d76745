// SPDX-License-Identifier: MIT
// Fixtures of whole models: logits, losses and gradients; training; greedy generation.
#include <algorithm>

#include "app/generator.h"
#include "core/host.h"
#include "tests/golden/fixture.h"

namespace tapemeasure::golden {

namespace {

struct Forward {
  double loss = 0;
  std::vector<double> logits;
};

/// Segments [S, B, T], or a batch [B, T] as one of them.
std::vector<Tensor> segments_of(const Tensor& ids) {
  if (ids.shape().axes() == 2) return {ids};
  std::vector<Tensor> segments;
  for (int64_t s = 0; s < ids.shape()[0]; ++s) {
    segments.push_back(ids.rows(s, 1).reshaped({ids.shape()[1], ids.shape()[2]}));
  }
  return segments;
}

Memory memory_of(const Model& model, int64_t sequences) {
  return model.network->memory(*model.backend, model.dtype, sequences,
                               model.network->options().memory);
}

/// Loss and gradients of segments in order (mean over all their scored targets).
Forward forward_backward(Model& model, Memory& memory, const std::vector<Tensor>& tokens,
                         const std::vector<Tensor>& targets) {
  int64_t scored = 0;
  for (const Tensor& segment : targets) {
    for (int64_t i = 0; i < segment.count(); ++i) scored += segment.data<int32_t>()[i] >= 0;
  }
  const double factor = 1 / static_cast<double>(scored);
  model.store.clear_gradients();
  Forward result;
  for (size_t s = 0; s < tokens.size(); ++s) {
    Tape tape;
    tapemeasure::Run run(tape, true);
    const Variable hidden =
        model.network->hidden(run, {.tokens_BT = tokens[s], .lanes = {&memory}});
    memory.advance();
    const std::vector<double> logits =
        to_doubles(model.network->logits(run, hidden.detached()).value());
    result.logits.insert(result.logits.end(), logits.begin(), logits.end());
    const CrossEntropy loss = model.network->loss(run, hidden, targets[s], {.factor = factor});
    result.loss += loss.total * factor;
    tape.backward(loss.loss);
  }
  model.store.complete_gradients();
  return result;
}

}  // namespace

void run_model(const Fixture& fixture, const Place& place) {
  const auto model = build_model(fixture, fixture.options(), place);
  const Tensor tokens = fixture.ids("input/tokens", *model->backend);
  const Tensor targets = fixture.ids("input/targets", *model->backend);
  Memory memory = memory_of(*model, tokens.shape()[-2]);
  const Forward result =
      forward_backward(*model, memory, segments_of(tokens), segments_of(targets));
  fixture.expect("logits", result.logits, place);
  fixture.expect("loss", {result.loss}, place);
  if (fixture.has("grad")) fixture.expect_gradients(model->store, {}, place);
}

void run_training(const Fixture& fixture, const Place& place) {
  const FixtureOptions options = fixture.options();
  const auto model = build_model(fixture, options, place);
  Optimizer optimizer(*options.optimizer.options, model->store);
  const Tensor tokens = fixture.ids("input/tokens", *model->backend);
  const Tensor targets = fixture.ids("input/targets", *model->backend);
  const int64_t steps = tokens.shape()[0];
  const std::vector<Tensor> batches = segments_of(tokens), batch_targets = segments_of(targets);
  Memory memory = memory_of(*model, tokens.shape()[1]);
  std::vector<double> losses, rates, norms;
  for (int64_t step = 0; step < steps; ++step) {
    const auto at = static_cast<size_t>(step);
    const Forward result = forward_backward(*model, memory, {batches[at]}, {batch_targets[at]});
    losses.push_back(result.loss);
    norms.push_back(optimizer.gradient_norm());
    const double rate =
        options.optimizer.options->peak_rate() * options.schedule.options->factor(step);
    rates.push_back(optimizer.step(rate, norms.back()));
  }
  fixture.expect("losses", losses, place);
  if (fixture.has("expect/rates")) fixture.expect("rates", rates, place);
  if (fixture.has("expect/norms")) fixture.expect("norms", norms, place);
  for (const std::string& name : fixture.names("expect/final")) {
    const Parameter* parameter = model->store.find(name);
    ASSERT_NE(parameter, nullptr) << name;
    fixture.expect("final/" + name, to_doubles(parameter->value), place);
  }
}

void run_generation(const Fixture& fixture, const Place& place) {
  const FixtureOptions options = fixture.options();
  const auto model = build_model(fixture, options, place);
  const std::vector<int64_t> shape = fixture.shape("input/prompt");
  const auto batch = static_cast<size_t>(shape[0]), length = static_cast<size_t>(shape[1]);
  const auto fresh = static_cast<size_t>(options.new_tokens);
  const std::vector<int32_t> prompt = fixture.integers("input/prompt");
  std::vector<std::vector<int32_t>> tokens, next;
  for (size_t b = 0; b < batch; ++b) {
    tokens.emplace_back(prompt.begin() + b * length, prompt.begin() + (b + 1) * length);
  }
  Continuation continuation(*model, shape[0], shape[1] + options.new_tokens);
  next = tokens;
  std::vector<std::vector<double>> logits(batch);  // [batch][new tokens * V]
  for (size_t n = 0; n < fresh; ++n) {
    const std::vector<std::vector<double>> rows = continuation.feed(next);
    for (size_t b = 0; b < batch; ++b) {
      logits[b].insert(logits[b].end(), rows[b].begin(), rows[b].end());
      const auto top = std::max_element(rows[b].begin(), rows[b].end());
      next[b] = {static_cast<int32_t>(top - rows[b].begin())};
      tokens[b].push_back(next[b][0]);
    }
  }
  std::vector<int32_t> all_tokens;
  std::vector<double> all_logits;
  for (size_t b = 0; b < batch; ++b) {
    all_tokens.insert(all_tokens.end(), tokens[b].begin(), tokens[b].end());
    all_logits.insert(all_logits.end(), logits[b].begin(), logits[b].end());
  }
  EXPECT_EQ(all_tokens, fixture.integers("expect/tokens"));
  fixture.expect("logits", all_logits, place);
}

}  // namespace tapemeasure::golden
