// SPDX-License-Identifier: MIT
// The `model:` section of a config: what a model is made of. Spelled as users and golden fixtures
// spell it; every key has a default.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/config/fields.h"
#include "layers/adaptive_softmax.h"
#include "layers/position/method.h"

namespace tapemeasure {

enum class ModelKind { kDecoder, kEncoder, kEncoderDecoder };
enum class NormPosition { kPre, kPost };
enum class Initialisation { kScaled, kGpt2, kT5, kTransformerXl };

struct ModelOptions {
  ModelKind kind = ModelKind::kDecoder;
  int64_t layers = 4;
  int64_t width = 128;
  int64_t heads = 4;
  std::optional<int64_t> head_width;
  std::optional<int64_t> feedforward;
  std::optional<int64_t> vocabulary;
  int64_t context = 64;
  Activation activation = Activation::kGelu;
  bool gated = false;
  Norm norm = Norm::kLayerNorm;
  double norm_epsilon = 1e-5;
  NormPosition norm_position = NormPosition::kPre;
  std::optional<bool> final_norm;
  bool embedding_norm = false;
  double embedding_scale = 1;
  bool bias = true;
  std::vector<std::string> biases;  // those linears that have one, where `bias` is a list
  bool tied_head = true;
  bool head_bias = false;
  bool head_transform = false;
  bool enhanced_mask_decoder = false;
  double head_scale = 1;
  AdaptiveSoftmaxOptions adaptive_softmax;
  std::string attention_scale_word = "rsqrt";
  double attention_scale = 0;  // where attention_scale is a number
  int64_t window = 0;
  int64_t memory = 0;
  bool same_length = false;
  std::string document_end;
  double dropout = 0;
  std::optional<double> attention_dropout;
  Initialisation initialisation = Initialisation::kScaled;
  Chosen<PositionOptions> position{"learned", nullptr};

  void visit(Fields& f);
  /// Throws ConfigError naming the keys (below "model.") that contradict each other. `place` turns
  /// a key into file:line:column.
  void validate(const std::function<std::string(const std::string&)>& place) const;

  int64_t the_head_width() const { return head_width.value_or(width / heads); }
  int64_t the_feedforward() const { return feedforward.value_or(4 * width); }
  bool has_final_norm() const { return final_norm.value_or(norm_position == NormPosition::kPre); }
  double the_attention_dropout() const { return attention_dropout.value_or(dropout); }
  bool has_bias(const std::string& linear) const;
  /// Standard deviation with which token embeddings start.
  double embedding_deviation() const;

 private:
  using Place = std::function<std::string(const std::string&)>;
  /// The checks of what belongs to one kind of model alone.
  void validate_kind(const Place& place) const;
  void validate_adaptive(const Place& place) const;
};

}  // namespace tapemeasure
