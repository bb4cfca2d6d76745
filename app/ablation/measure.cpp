// SPDX-License-Identifier: MIT
// Quantities, and the measures of plan.h.
#include <algorithm>

#include "app/ablation/plan.h"
#include "core/error.h"

namespace tapemeasure {

std::string unit_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::kBitsPerCharacter:
      return "bits per character";
    case Quantity::kBitsPerByte:
      return "bits per byte";
    case Quantity::kBitsPerToken:
      return "bits per token";
    case Quantity::kLoss:
      return "nats per token";
    case Quantity::kPerplexity:
      return "perplexity per token";
    case Quantity::kWordPerplexity:
      return "perplexity per word";
    case Quantity::kExactMatch:
      return "share of answers that match";
    case Quantity::kBleu:
      return "BLEU";
    case Quantity::kTokensPerSecond:
      return "tokens per second";
    case Quantity::kEffectiveContext:
      return "tokens of context that help";
  }
  throw Error("a quantity without a unit");
}

bool more_is_better(Quantity quantity) {
  return quantity == Quantity::kExactMatch || quantity == Quantity::kBleu ||
         quantity == Quantity::kTokensPerSecond || quantity == Quantity::kEffectiveContext;
}

bool is_time(Quantity quantity) { return quantity == Quantity::kTokensPerSecond; }

bool Measure::measures(const std::string& arm) const {
  return arms.empty() || std::find(arms.begin(), arms.end(), arm) != arms.end();
}

std::string Measure::specification() const {
  const std::string text =
      fmt::format("{}; {}; length {}; {}; set {}; lengths {}; targets {}", unit_of(quantity),
                  name_of(split), length ? std::to_string(*length) : "as trained",
                  protocol.empty() ? "standard protocol" : protocol, fmt::join(set, " "),
                  fmt::join(lengths, " "), targets);
  if (quantity != Quantity::kBleu) return text;
  return text + fmt::format("; beam {}, length penalty {}", beam, length_penalty);
}

}  // namespace tapemeasure
