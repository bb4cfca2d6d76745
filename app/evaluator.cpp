// SPDX-License-Identifier: MIT
#include "app/evaluator.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "core/error.h"
#include "core/host.h"
#include "core/utf8.h"

namespace tapemeasure {

namespace {

constexpr int64_t kLongestMemory = 1 << 24;  // as model.memory

/// The number behind `prefix`, where that is all.
std::optional<int64_t> number_behind(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + prefix.size(), end, number);
  return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

}  // namespace

Protocol Protocol::parse(const std::string& text, int64_t length) {
  if (text == "nonoverlap") return {length};
  const auto stride = number_behind("sliding:stride=", text);
  if (stride && *stride >= 1) {
    check<ConfigError>(*stride <= length, "--protocol {}: the stride is longer than windows of {}",
                       text, length);
    return {length, *stride};
  }
  const auto memory = number_behind("memory:", text);
  if (memory && *memory >= 0 && *memory <= kLongestMemory) return {length, 0, memory};
  throw ConfigError(
      fmt::format("--protocol wants nonoverlap, sliding:stride=N with N from 1 to the length, or "
                  "memory:N with N from 0 to {}, got '{}'",
                  kLongestMemory, text));
}

Protocol Protocol::of(const ModelOptions& model, int64_t length) {
  Protocol protocol{length};
  if (model.memory > 0) protocol.memory = model.memory;
  return protocol;
}

std::string Protocol::name() const {
  if (memory) return fmt::format("memory:{}", *memory);
  return stride == 0 ? "nonoverlap" : fmt::format("sliding:stride={}", stride);
}

std::vector<Window> windows_of(const Protocol& protocol, int64_t tokens) {
  const int64_t targets = tokens - 1, length = protocol.length;
  const int64_t stride = protocol.stride == 0 ? length : protocol.stride;
  std::vector<Window> windows;
  for (int64_t scored = 0; scored < targets;) {
    const int64_t end = std::min(scored == 0 ? length : scored + stride, targets);
    const int64_t start = protocol.stride == 0 ? scored : std::max<int64_t>(0, end - length);
    windows.push_back({start, end - start, scored});
    scored = end;
  }
  return windows;
}

double Evaluation::perplexity() const { return std::exp(loss()); }
double Evaluation::word_perplexity() const { return std::exp(nats / static_cast<double>(words)); }
double Evaluation::bits_per_token() const { return loss() / std::numbers::ln2; }
double Evaluation::bits_per_character() const {
  return nats / std::numbers::ln2 / static_cast<double>(characters);
}
double Evaluation::bits_per_word() const {
  return nats / std::numbers::ln2 / static_cast<double>(words);
}
double Evaluation::bits_per_byte() const {
  return nats / std::numbers::ln2 / static_cast<double>(bytes);
}

EvaluationText evaluation_text(const TokenFile& file, Split split) {
  return {file.tokens(split), file.characters(split), file.words(split), file.bytes(split),
          file.origin(split)};
}

namespace {

/// Scores windows of one length, all at once, or one behind a memory; returns the losses of their
/// rows.
std::vector<double> score(const Model& model, const EvaluationText& text,
                          std::span<const Window> windows, Memory* memory) {
  const int64_t length = windows[0].length, count = static_cast<int64_t>(windows.size());
  const Tensor tokens = empty(*model.backend, {count, length}, DType::kI32);
  const Tensor targets = empty(*model.backend, {count, length}, DType::kI32);
  for (int64_t w = 0; w < count; ++w) {
    const Window& window = windows[static_cast<size_t>(w)];
    int32_t* target = targets.data<int32_t>() + w * length;
    text.tokens.copy(window.start, length, tokens.data<int32_t>() + w * length);
    text.tokens.copy(window.start + 1, length, target);
    std::fill(target, target + (window.score_from - window.start), -1);
  }
  Tape tape(false);
  Run run(tape);
  const Variable hidden = model.network->hidden(run, {.tokens_BT = tokens, .lanes = {memory}});
  if (memory) memory->advance();
  return to_doubles(model.network->loss(run, hidden, targets, {}).losses);
}

/// The memory of a protocol that has one.
std::optional<Memory> memory_of(const Model& model, const Protocol& protocol) {
  const int64_t length = protocol.memory.value_or(0);
  if (length == 0) return std::nullopt;
  const auto& position = model.network->options().position;
  const std::string refusal = position.options->refuses_memory();
  check<ConfigError>(refusal.empty(), "--protocol {} does not go with model.position.kind {}: {}",
                     protocol.name(), position.kind, refusal);
  return model.network->memory(*model.backend, model.dtype, 1, length);
}

/// Buckets of positions below `length`: 0-15, then powers of two.
std::vector<PositionLoss> position_buckets(int64_t length) {
  constexpr int64_t kFirst = 16;
  std::vector<PositionLoss> buckets;
  for (int64_t first = 0, end = kFirst; first < length; first = end, end *= 2) {
    buckets.push_back({first, std::min(end, length) - 1});
  }
  return buckets;
}

void add_to(std::vector<PositionLoss>& buckets, int64_t position, double nats) {
  size_t bucket = 0;
  while (buckets[bucket].last < position) ++bucket;
  buckets[bucket].nats += nats;
  ++buckets[bucket].tokens;
}

/// The first token is never a target: characters and words that it holds whole do not count, those
/// that go on behind it do.
void count_scored(const Model& model, const EvaluationText& text, Evaluation& result) {
  const std::string first = model.tokenizer->bytes_of(text.tokens[0]);
  std::string head = first;  // and the at most three bytes that its last character may still have
  for (int64_t t = 1; t < text.tokens.size() && head.size() < first.size() + 3; ++t) {
    head += model.tokenizer->bytes_of(text.tokens[t]);
  }
  result.tokens = text.tokens.size() - 1;
  result.bytes = text.bytes - static_cast<int64_t>(first.size());
  result.characters = text.characters;
  for (size_t offset = 0; offset < first.size(); --result.characters) {
    const CodePoint point = read_code_point(head, offset);
    offset += point.value < 0 ? 1 : static_cast<size_t>(point.bytes);
    if (offset > first.size()) break;
  }
  const bool goes_on = count_words(head.substr(0, first.size() + 1)) == count_words(first) &&
                       count_words(head.substr(first.size(), 1)) == 1;
  result.words = text.words - count_words(first) + (goes_on ? 1 : 0);
}

}  // namespace

Evaluation evaluate(const Model& model, const EvaluationText& text, const Protocol& protocol,
                    int64_t batch_tokens, const std::function<void(double, int64_t)>& per_target) {
  check<DataError>(text.tokens.size() >= 2,
                   "{}: {} tokens: nothing to evaluate, at least 2 are needed", text.origin,
                   text.tokens.size());
  const auto longest = model.network->longest();
  check<ConfigError>(!longest || protocol.length <= *longest,
                     "evaluation length {} is beyond the {} positions that this model has learned: "
                     "use at most {}",
                     protocol.length, longest.value_or(0), longest.value_or(0));
  std::optional<Memory> memory = memory_of(model, protocol);
  const std::vector<Window> windows = windows_of(protocol, text.tokens.size());
  const auto at_once =
      static_cast<size_t>(memory ? 1 : std::max<int64_t>(1, batch_tokens / protocol.length));
  Evaluation result;
  result.protocol = protocol;
  result.positions = position_buckets(windows[0].length);
  for (size_t first = 0; first < windows.size();) {
    size_t last = first + 1;
    while (last < windows.size() && last - first < at_once &&
           windows[last].length == windows[first].length) {
      ++last;
    }
    const int64_t remembered = memory ? memory->rows() : 0;
    const auto losses = score(model, text, std::span(windows).subspan(first, last - first),
                              memory ? &*memory : nullptr);
    const int64_t length = windows[first].length;
    for (size_t w = first; w < last; ++w) {
      for (int64_t t = windows[w].score_from - windows[w].start; t < length; ++t) {
        const double loss = losses[(w - first) * static_cast<size_t>(length) + size_t(t)];
        result.nats += loss;
        add_to(result.positions, t, loss);
        if (per_target) per_target(loss, remembered + t + 1);
      }
    }
    first = last;
  }
  count_scored(model, text, result);
  return result;
}

}  // namespace tapemeasure
