// SPDX-License-Identifier: MIT
// Sampling text from a model, with a key-value cache.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/learner.h"

namespace tapemeasure {

struct SamplingOptions {
  int64_t tokens = 200;  ///< new ones
  int64_t seed = 1;
  double temperature = 1;  ///< divides the logits; 0 is greedy
  int64_t top_k = 0;       ///< only the k most likely; 0: all
  double top_p = 1;        ///< only the most likely that together reach p
  int64_t window = 0;      ///< tokens that one sees, itself included: the rest is forgotten; 0: all
  std::vector<int32_t> source = {};  ///< what an encoder-decoder reads
};

/// The next token for one row of logits. `draw` is uniform in [0, 1).
int32_t sample(std::vector<double> logits, const SamplingOptions& options, double draw);

/// Logits of the tokens after a prompt, one call at a time: what `generate` is made of.
class Continuation {
 public:
  /// Room for `capacity` tokens in each of `batch` sequences; see SamplingOptions::window. Throws
  /// ConfigError for an encoder, which cannot continue anything, and for a window of a model with
  /// prefixes.
  Continuation(const Model& model, int64_t batch, int64_t capacity, int64_t window = 0);
  /// Encoder-decoders, before anything is fed: what each sequence is written from.
  void read(const std::vector<std::vector<int32_t>>& sources);
  /// Goes on with these of the sequences, in this order; one may come more than once.
  void select(const std::vector<int64_t>& sequences);
  /// Feeds tokens [batch, count] and returns the logits [batch][V] behind the last of each
  /// sequence. Of a model that was trained on prefixes, what is fed first is the prefix.
  std::vector<std::vector<double>> feed(const std::vector<std::vector<int32_t>>& tokens);

 private:
  std::vector<std::vector<double>> feed(const Tensor& tokens_BT);

  const Model& model_;
  Caches caches_;
  int32_t prefix_ = 0;  // tokens that see each other both ways
};

/// Continues `prompt`; `token` is called with each new one. Token n is a pure function of the
/// model, the prompt, the source, and (seed, n). REQUIRES: the prompt is not empty.
void generate(const Model& model, const std::vector<int32_t>& prompt,
              const SamplingOptions& options, const std::function<void(int32_t)>& token);

}  // namespace tapemeasure
