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
class Projections;
struct KeptTables;

/// The absolute positions of the rows of one attention call, and what its tensors are made of.
struct Span {
  int64_t queries = 0, keys = 0;
  int64_t first_query = 0, first_key = 0;
  bool causal = true;
  Backend* backend = nullptr;
  DType dtype = DType::kF32;

  /// The call's whole length, keys before its queries included.
  int64_t length() const { return first_key + keys; }
  /// True if a table that was made for an earlier call can serve this one: it is there, on the same
  /// backend, in the same dtype.
  bool served_by(const Tensor& table) const {
    return table.defined() && table.dtype() == dtype && &table.backend() == backend;
  }
};

/// One attention layer's part of a method: declares its terms.
class PositionLayer {
 public:
  virtual ~PositionLayer() = default;
  /// The terms of a call; `scale` multiplies the model's attention scale. Default: none.
  /// Generation, whose weights do not change, gives `kept` for tables that are work to make.
  virtual AttentionTerms terms(Run& run, const Span& span, KeptTables* kept) const;
  /// Tables, row p for position p, by which queries and keys turn, if they do. Heads and rows are
  /// the caller's to fill in.
  virtual std::optional<Backend::Rotation> rotation(const Span& span) const;
};

/// A model's part of a method: owns what its layers share.
class PositionMethod {
 public:
  virtual ~PositionMethod() = default;
  /// Adds to token embeddings whose first row is at `first_position`. Default: x itself.
  virtual Variable embed(Run& run, const Variable& x_BTD, int64_t first_position) const;
  /// The part of one attention layer; `scope` is "blocks.N.attention.position", `projections` are
  /// that attention's and outlive the result.
  virtual std::unique_ptr<PositionLayer> layer(const Scope& scope,
                                               const Projections& projections) const;
  /// The longest sequence that it can place, if there is one.
  virtual std::optional<int64_t> longest() const { return std::nullopt; }
  /// Which of its rotations a call over `length` positions takes: keys that were cached under
  /// another version are of no use.
  virtual int64_t version(int64_t length) const;
};

/// The config keys of a method.
class PositionOptions : public KindOptions {
 public:
  void visit(Fields&) override {}
  /// Throws ConfigError on keys that contradict each other or the model's.
  virtual void validate(const ModelOptions&) const {}
  /// Why it cannot go with segment memory, or "".
  virtual std::string refuses_memory() const { return ""; }
  /// True if it tells positions by what it adds to the embeddings.
  virtual bool adds_to_embeddings() const { return false; }
  /// False if stacks with a causal mask, or those without, go without the method.
  virtual bool serves(bool causal) const {
    (void)causal;
    return true;
  }
  /// `scope` is "position": for parameters that all layers share.
  virtual std::unique_ptr<PositionMethod> build(const ModelOptions& model,
                                                const Scope& scope) const = 0;
  /// The absolute method that goes beside it, or null.
  virtual std::unique_ptr<PositionMethod> build_absolute(const ModelOptions& model,
                                                         const Scope& scope) const;
};

/// The config keys of a relative method: absolute positions may go beside it, at the input.
class RelativeOptions : public PositionOptions {
 public:
  void visit(Fields& f) override;
  std::string refuses_memory() const override;
  bool adds_to_embeddings() const override;
  std::unique_ptr<PositionMethod> build_absolute(const ModelOptions& model,
                                                 const Scope& scope) const override;

 private:
  int absolute_ = 0;
};

/// Why absolute positions and segment memory exclude each other.
std::string absolute_memory_conflict(const std::string& method);

/// All methods, as methods.def lists them.
std::span<const Kind<PositionOptions>> position_methods();

}  // namespace tapemeasure
