// SPDX-License-Identifier: MIT
// Evaluation of a whole text: every target is scored exactly once, in a fixed order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/learner.h"

namespace tapemeasure {

/// How a text is cut.
///   nonoverlap: windows of `length` tokens side by side; each scores all of its targets.
///   sliding: windows that end `stride` further each time and score only what is new, so that all
///     but the first window's targets have at least length - stride tokens before them.
///   memory: segments of `length` tokens in order, as one stream, behind what the model's layers
///     remember of the last `memory` tokens before each.
struct Protocol {
  int64_t length = 0;
  int64_t stride = 0;                            ///< 0: nonoverlap
  std::optional<int64_t> memory = std::nullopt;  ///< none: each window for itself

  /// Reads "nonoverlap", "sliding:stride=N" or "memory:N". Throws ConfigError.
  static Protocol parse(const std::string& text, int64_t length);
  /// What a model was trained for: memory of its own length, or nonoverlap when it has none.
  static Protocol of(const ModelOptions& model, int64_t length);
  /// "nonoverlap", "sliding:stride=16" or "memory:64".
  std::string name() const;
};

/// One window of a protocol: inputs [start, start + length), targets one further, those from input
/// `score_from` on are scored.
struct Window {
  int64_t start, length, score_from;
};
/// The windows that score targets 1 ... tokens - 1 once each.
std::vector<Window> windows_of(const Protocol& protocol, int64_t tokens);

/// The loss of inputs [first, last] of all windows.
struct PositionLoss {
  int64_t first = 0, last = 0;
  double nats = 0;
  int64_t tokens = 0;  ///< scored there

  double loss() const { return nats / static_cast<double>(tokens); }
};

/// A loss with what it can be divided by.
struct Evaluation {
  std::string objective = "causal";
  std::string unit = "token";           ///< what the loss is per
  Protocol protocol;                    ///< of other objectives: only its length, 0 as trained
  std::vector<PositionLoss> positions;  ///< 0-15, 16-31, 32-63, 64-127, ...
  double nats = 0;                      ///< sum over scored targets
  int64_t tokens = 0, characters = 0, words = 0, bytes = 0;  ///< of what was scored
  int64_t answers = 0, exact = 0;  ///< of objectives that have answers: all, and those right

  double loss() const { return nats / static_cast<double>(tokens); }
  double exact_match() const { return static_cast<double>(exact) / static_cast<double>(answers); }
  double perplexity() const;
  double word_perplexity() const;
  double bits_per_token() const;
  double bits_per_character() const;
  double bits_per_word() const;
  double bits_per_byte() const;
};

/// What is evaluated.
struct EvaluationText {
  TokenSpan tokens;
  int64_t characters = 0, words = 0, bytes = 0;  ///< of the whole text
  std::string origin;
};
EvaluationText evaluation_text(const TokenFile& file, Split split);

/// Throws DataError when there is no target, ConfigError when windows are longer than the model's
/// positions reach (naming both) or when these do not go with memory. `per_target`, if given, is
/// called with the loss of each target, in order, and with how many tokens stood before it: in its
/// window, and in memory.
Evaluation evaluate(const Model& model, const EvaluationText& text, const Protocol& protocol,
                    int64_t batch_tokens,
                    const std::function<void(double loss, int64_t before)>& per_target = {});

}  // namespace tapemeasure
