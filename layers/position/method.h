// SPDX-License-Identifier: MIT
// What a position method is. A method lives in one file of this folder and one line of methods.def:
// an options class with the method's config keys that builds the method, which may act in three
// places: on the embeddings (absolute methods), on queries and keys (rotary ones), and as terms of
// the one attention (relative ones).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/config/fields.h"
#include "core/ops.h"
#include "core/parameter.h"

namespace tapemeasure {

struct ModelOptions;

/// The absolute positions of the rows of one attention call.
struct Span {
  int64_t queries = 0, keys = 0;
  int64_t first_query = 0, first_key = 0;
};

/// One attention layer's part of a method: declares its terms.
class PositionLayer {
 public:
  virtual ~PositionLayer() = default;
  /// The terms of a call; `scale` multiplies the model's attention scale. Default: none.
  virtual AttentionTerms terms(Run& run, const Span& span) const;
};

/// A model's part of a method: owns what its layers share.
class PositionMethod {
 public:
  virtual ~PositionMethod() = default;
  /// Adds to token embeddings whose first row is at `first_position`. Default: x itself.
  virtual Variable embed(Run& run, const Variable& x_BTD, int64_t first_position) const;
  /// The part of one attention layer; `scope` is "blocks.N.attention.position".
  virtual std::unique_ptr<PositionLayer> layer(const Scope& scope) const;
  /// The longest sequence that it can place, if there is one.
  virtual std::optional<int64_t> longest() const { return std::nullopt; }
};

/// The config keys of a method.
class PositionOptions : public KindOptions {
 public:
  void visit(Fields&) override {}
  /// `scope` is "position": for parameters that all layers share.
  virtual std::unique_ptr<PositionMethod> build(const ModelOptions& model,
                                                const Scope& scope) const = 0;
};

/// All methods, as methods.def lists them.
std::span<const Kind<PositionOptions>> position_methods();

}  // namespace tapemeasure
