// SPDX-License-Identifier: MIT
// Fixtures of whole models: logits, losses and gradients; training; generation.
#include <algorithm>

#include "app/beam_search.h"
#include "app/generator.h"
#include "core/host.h"
#include "tests/golden/fixture.h"

namespace tapemeasure::golden {

namespace {

struct Forward {
  double loss = 0;
  std::vector<double> logits, losses;
};

/// The inputs of a fixture, one per segment, and their targets.
struct Segments {
  std::vector<ModelInput> inputs;
  std::vector<Tensor> targets;
};

/// Ids [S, B, T] cut into S, or [B, T] as one of them; lengths alike, with an axis less. Nothing
/// where the fixture has none.
std::vector<Tensor> cut(const Fixture& fixture, const std::string& name, int axes, size_t segments,
                        Backend& backend) {
  if (!fixture.has(name)) return std::vector<Tensor>(segments);
  const Tensor ids = fixture.ids(name, backend);
  if (ids.shape().axes() == axes) return {ids};
  std::vector<Tensor> parts;
  for (int64_t s = 0; s < ids.shape()[0]; ++s) {
    const Tensor part = ids.rows(s, 1);
    parts.push_back(
        part.reshaped(axes == 1 ? Shape{ids.shape()[1]} : Shape{ids.shape()[1], ids.shape()[2]}));
  }
  return parts;
}

Segments segments_of(const Fixture& fixture, Backend& backend) {
  Segments segments;
  segments.targets = cut(fixture, "input/targets", 2, 1, backend);
  const size_t count = segments.targets.size();
  const auto part = [&](const char* name, int axes) {
    return cut(fixture, name, axes, count, backend);
  };
  const std::vector<Tensor> tokens = part("input/tokens", 2), lengths = part("input/lengths", 1),
                            source = part("input/source", 2),
                            source_lengths = part("input/source_lengths", 1);
  for (size_t s = 0; s < count; ++s) {
    segments.inputs.push_back({.tokens_BT = tokens[s],
                               .lengths_B = lengths[s],
                               .source_BS = source[s],
                               .source_lengths_B = source_lengths[s]});
  }
  return segments;
}

/// A decoder's memory; a model of another kind has none.
std::optional<Memory> memory_of(const Model& model, const Segments& segments) {
  if (model.network->options().kind != ModelKind::kDecoder) return std::nullopt;
  return model.network->memory(*model.backend, model.dtype, segments.targets[0].shape()[0],
                               model.network->options().memory);
}

/// Loss and gradients of segments in order (mean over all their scored targets).
Forward forward_backward(Model& model, Memory* memory, const Segments& segments) {
  int64_t scored = 0;
  for (const Tensor& segment : segments.targets) {
    for (int64_t i = 0; i < segment.count(); ++i) scored += segment.data<int32_t>()[i] >= 0;
  }
  const double factor = 1 / static_cast<double>(scored);
  const auto append = [](std::vector<double>& all, const Tensor& more) {
    const std::vector<double> values = to_doubles(more);
    all.insert(all.end(), values.begin(), values.end());
  };
  model.store.clear_gradients();
  Forward result;
  for (size_t s = 0; s < segments.inputs.size(); ++s) {
    Tape tape;
    tapemeasure::Run run(tape, true);
    ModelInput input = segments.inputs[s];
    input.lanes = {memory};
    const Variable hidden = model.network->hidden(run, input);
    if (memory) memory->advance();
    append(result.logits, model.network->logits(run, hidden.detached()).value());
    const CrossEntropy loss =
        model.network->loss(run, hidden, segments.targets[s], {.factor = factor});
    append(result.losses, loss.losses);
    result.loss += loss.total * factor;
    tape.backward(loss.loss);
  }
  model.store.complete_gradients();
  return result;
}

/// Rows of logits at or beyond a sequence's length are not compared: takes theirs.
void take_padded(const Fixture& fixture, std::vector<double>& logits_BTV) {
  if (!fixture.has("input/lengths")) return;
  const std::vector<double> theirs = fixture.reals("expect/logits");
  const std::vector<int32_t> lengths = fixture.integers("input/lengths");
  const auto rows = static_cast<size_t>(fixture.shape("expect/logits")[1]);
  const auto classes = static_cast<size_t>(fixture.shape("expect/logits")[2]);
  for (size_t b = 0; b < lengths.size(); ++b) {
    const size_t begin = (b * rows + static_cast<size_t>(lengths[b])) * classes;
    const size_t end = (b + 1) * rows * classes;
    std::copy(theirs.begin() + begin, theirs.begin() + end, logits_BTV.begin() + begin);
  }
}

}  // namespace

void run_model(const Fixture& fixture, const Place& place) {
  const auto model = build_model(fixture, fixture.options(), place);
  const Segments segments = segments_of(fixture, *model->backend);
  std::optional<Memory> memory = memory_of(*model, segments);
  Forward result = forward_backward(*model, memory ? &*memory : nullptr, segments);
  if (fixture.has("expect/logits")) {
    take_padded(fixture, result.logits);
    fixture.expect("logits", result.logits, place);
  }
  if (fixture.has("expect/losses")) fixture.expect("losses", result.losses, place);
  fixture.expect("loss", {result.loss}, place);
  if (fixture.has("grad")) fixture.expect_gradients(model->store, {}, place);
}

void run_training(const Fixture& fixture, const Place& place) {
  const FixtureOptions options = fixture.options();
  const auto model = build_model(fixture, options, place);
  Optimizer optimizer(*options.optimizer.options, model->store);
  const Segments steps = segments_of(fixture, *model->backend);
  std::optional<Memory> memory = memory_of(*model, steps);
  std::vector<double> losses, rates, norms;
  for (size_t step = 0; step < steps.inputs.size(); ++step) {
    const Forward result = forward_backward(*model, memory ? &*memory : nullptr,
                                            {{steps.inputs[step]}, {steps.targets[step]}});
    losses.push_back(result.loss);
    norms.push_back(optimizer.gradient_norm());
    const double rate = options.optimizer.options->peak_rate() *
                        options.schedule.options->factor(static_cast<int64_t>(step));
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

namespace {

/// Sources without their padding.
std::vector<std::vector<int32_t>> sources_of(const Fixture& fixture) {
  std::vector<std::vector<int32_t>> sources;
  if (!fixture.has("input/source")) return sources;
  const std::vector<int32_t> ids = fixture.integers("input/source");
  const auto length = static_cast<size_t>(fixture.shape("input/source")[1]);
  for (size_t begin = 0; begin < ids.size(); begin += length) {
    sources.emplace_back(ids.begin() + begin, ids.begin() + begin + length);
  }
  if (!fixture.has("input/source_lengths")) return sources;
  const std::vector<int32_t> lengths = fixture.integers("input/source_lengths");
  for (size_t b = 0; b < sources.size(); ++b) sources[b].resize(static_cast<size_t>(lengths[b]));
  return sources;
}

std::vector<std::vector<int32_t>> prompts_of(const Fixture& fixture) {
  std::vector<std::vector<int32_t>> prompts;
  const std::vector<int32_t> ids = fixture.integers("input/prompt");
  const auto length = static_cast<size_t>(fixture.shape("input/prompt")[1]);
  for (size_t begin = 0; begin < ids.size(); begin += length) {
    prompts.emplace_back(ids.begin() + begin, ids.begin() + begin + length);
  }
  return prompts;
}

void run_beam(const Fixture& fixture, const FixtureOptions& options, const Model& model,
              const Place& place) {
  const std::vector<std::vector<int32_t>> prompts = prompts_of(fixture),
                                          sources = sources_of(fixture);
  const BeamOptions beam{.width = options.beam.width,
                         .length_penalty = options.beam.length_penalty,
                         .end = static_cast<int32_t>(options.beam.end),
                         .tokens = options.new_tokens};
  std::vector<int32_t> tokens;
  std::vector<double> scores;
  for (size_t b = 0; b < prompts.size(); ++b) {
    const auto found =
        beam_search(model, prompts[b], sources.empty() ? std::vector<int32_t>() : sources[b], beam);
    ASSERT_FALSE(found.empty());
    tokens.insert(tokens.end(), prompts[b].begin(), prompts[b].end());
    tokens.insert(tokens.end(), found[0].tokens.begin(), found[0].tokens.end());
    const size_t filled = (b + 1) * static_cast<size_t>(fixture.shape("expect/tokens")[1]);
    tokens.resize(filled, beam.end);
    scores.push_back(found[0].score);
  }
  EXPECT_EQ(tokens, fixture.integers("expect/tokens"));
  fixture.expect("scores", scores, place);
}

}  // namespace

void run_generation(const Fixture& fixture, const Place& place) {
  const FixtureOptions options = fixture.options();
  const auto model = build_model(fixture, options, place);
  if (options.beam.width > 0) return run_beam(fixture, options, *model, place);
  std::vector<std::vector<int32_t>> tokens = prompts_of(fixture), next = tokens;
  const size_t batch = tokens.size();
  Continuation continuation(*model, static_cast<int64_t>(batch),
                            fixture.shape("input/prompt")[1] + options.new_tokens);
  if (fixture.has("input/source")) continuation.read(sources_of(fixture));
  std::vector<std::vector<double>> logits(batch);  // [batch][new tokens * V]
  for (int64_t n = 0; n < options.new_tokens; ++n) {
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
