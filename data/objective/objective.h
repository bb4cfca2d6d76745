// SPDX-License-Identifier: MIT
// What of a text is asked of a model. An objective lives in one file of this folder and one line of
// objectives.def: an options class with the objective's config keys that makes the batches of
// training and those of evaluation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/config/fields.h"
#include "data/batch.h"
#include "data/batcher.h"
#include "data/corpus.h"

namespace tapemeasure {

/// Who reads the batches: the kinds of models, as model.kind lists them.
enum class Reader { kDecoder, kEncoder, kEncoderDecoder };

/// What an objective is told of the rest of a config.
struct ObjectiveSetting {
  Reader reader = Reader::kDecoder;
  int64_t context = 1;       ///< the longest sequence
  int64_t batch_tokens = 1;  ///< of one global batch
  int64_t vocabulary = 1;    ///< the tokenizer's
  uint64_t seed = 1;
  DataOrder order = DataOrder::kShuffled;

  int64_t sequences() const { return batch_tokens < context ? 1 : batch_tokens / context; }
};

/// Tokens that no text holds. Their ids follow the tokenizer's; those that a model may have to
/// predict come first.
struct Specials {
  std::vector<std::string> names;  ///< as a user writes them: "[MASK]"
  int64_t predicted = 0;

  int64_t count() const { return static_cast<int64_t>(names.size()); }
};

/// What an objective is made of.
enum class Material { kText, kPairs, kNothing };

/// The config keys of an objective. It must outlive the sources that it makes.
class ObjectiveOptions : public KindOptions {
 public:
  void visit(Fields&) override {}
  virtual Material material() const { return Material::kText; }
  /// Why it is nothing for such a model, or "".
  virtual std::string refuses(Reader reader) const = 0;
  /// Throws ConfigError on keys that contradict each other or the setting.
  virtual void validate(const ObjectiveSetting&) const {}
  /// Of objectives that make up their strings: what writes them.
  virtual std::shared_ptr<const Tokenizer> tokenizer() const { return nullptr; }
  virtual Specials specials(const ObjectiveSetting&) const { return {}; }
  virtual double smoothing() const { return 0; }
  /// What one nat is divided by: "masked token".
  virtual const char* unit() const = 0;
  /// True where a sequence's targets are an answer that can be right as a whole.
  virtual bool has_answers() const { return false; }
  /// True where the tokens that a text is continued from see each other both ways.
  virtual bool has_prefix() const { return false; }

  /// Throws DataError when `part` is too short for one batch.
  virtual std::unique_ptr<BatchSource> training(const Part& part,
                                                const ObjectiveSetting& setting) const = 0;
  /// What is measured, the same each time: nothing of it depends on setting.seed. `length`: of
  /// windows or strings, instead of the trained ones. Null: the whole text is, by a protocol.
  /// A part that is too short has no batches.
  virtual std::unique_ptr<FiniteSource> evaluation(const Part& part,
                                                   const ObjectiveSetting& setting,
                                                   std::optional<int64_t> length) const;
  /// What to say of the part that is left out, or "".
  virtual std::string notice(const Part&, const ObjectiveSetting&) const { return ""; }
};

/// All objectives, as objectives.def lists them.
std::span<const Kind<ObjectiveOptions>> objectives();
/// The objective that such a model has unless another is asked for.
const char* default_objective(Reader reader);

/// Refusals for `refuses`.
std::string only_for(Reader reader, Reader wanted, const char* reason);

}  // namespace tapemeasure
