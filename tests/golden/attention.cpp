// SPDX-License-Identifier: MIT
// Fixtures of one attention: output and the gradients of sum(y * dy).
#include <algorithm>

#include "core/host.h"
#include "layers/attention.h"
#include "tests/golden/fixture.h"

namespace tapemeasure::golden {

namespace {

enum MaskKind { kCausal, kFull, kWindow };

Tensor input_of(const Fixture& fixture, const std::string& name, Backend& backend, DType dtype) {
  const std::vector<int64_t> shape = fixture.shape(name);
  return to_tensor(backend, {shape[0], shape[1], shape[2]}, dtype, fixture.reals(name));
}

/// `lengths` count rows of x; the keys of memory before them are all real.
AttentionMask mask_of(const Fixture& fixture, const FixtureOptions& options, int64_t memory,
                      Backend& backend) {
  AttentionMask mask;
  mask.causal = options.mask != kFull;
  if (options.mask == kWindow) mask.window = options.model.window;
  if (!fixture.has("input/lengths")) return mask;
  std::vector<int32_t> ends = fixture.integers("input/lengths");
  for (int32_t& end : ends) end += static_cast<int32_t>(memory);
  mask.key_end = to_tensor(backend, {static_cast<int64_t>(ends.size())}, ends);
  return mask;
}

/// Rows beyond a sequence's length are not compared: takes theirs.
void take_padded(const Fixture& fixture, std::vector<double>& y_BTD) {
  if (!fixture.has("input/lengths")) return;
  const std::vector<double> theirs = fixture.reals("expect/y");
  const std::vector<int32_t> lengths = fixture.integers("input/lengths");
  const size_t rows = static_cast<size_t>(fixture.shape("expect/y")[1]);
  const size_t width = static_cast<size_t>(fixture.shape("expect/y")[2]);
  for (size_t b = 0; b < lengths.size(); ++b) {
    const size_t begin = (b * rows + static_cast<size_t>(lengths[b])) * width;
    std::copy(theirs.begin() + begin, theirs.begin() + (b + 1) * rows * width,
              y_BTD.begin() + begin);
  }
}

}  // namespace

void run_attention(const Fixture& fixture, const Place& place) {
  const FixtureOptions options = fixture.options();
  const auto backend = make_backend(place.backend);
  ParameterStore store;
  const Scope root(store);
  const auto method = options.model.position.options->build(options.model, root / "position");
  const AttentionLayer attention(options.model, *method, root);
  store.allocate(*backend, place.dtype, 1);
  fixture.load_parameters(store);

  Tape tape;
  tapemeasure::Run run(tape, true);
  const Variable x_BTD = tape.input(input_of(fixture, "input/x", *backend, place.dtype));
  Source source;
  int64_t memory = 0;
  if (fixture.has("input/memory")) {
    const Tensor memory_BMD = input_of(fixture, "input/memory", *backend, place.dtype);
    memory = memory_BMD.shape()[1];
    source.rows_BSD = concat_rows(run, Variable(memory_BMD), x_BTD);
  }
  source.mask = mask_of(fixture, options, memory, *backend);
  const Variable y_BTD = attention(run, x_BTD, source);
  std::vector<double> y = to_doubles(y_BTD.value());
  take_padded(fixture, y);
  fixture.expect("y", y, place);

  const int64_t count = y_BTD.value().count();
  const Tensor dy = input_of(fixture, "input/dy", *backend, place.dtype);
  tape.backward(linear(run, y_BTD.reshaped({1, count}), Variable(dy.reshaped({1, count}))));
  store.complete_gradients();
  fixture.expect_gradients(store, {{"x", to_doubles(tape.gradient(x_BTD))}}, place);
}

}  // namespace tapemeasure::golden
