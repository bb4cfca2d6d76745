// SPDX-License-Identifier: MIT
// Text to token ids and back. Bytes in = bytes out for every tokenizer that is lossless(). A
// tokenizer lives in one file of this folder and one line of tokenizers.def. What it is may depend
// on a text: a TokenizerLearner is shown the text piece by piece, and makes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/state.h"

namespace tapemeasure {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  /// "byte", "char", ...
  virtual std::string kind() const = 0;
  virtual int64_t vocabulary() const = 0;
  /// Appends the ids of `text`. Throws DataError for what it cannot encode, naming `origin` (a
  /// file, "the prompt"), the byte offset and line, and the offending bytes or character. May be
  /// called from several threads at once.
  virtual void encode(std::string_view text, const std::string& origin,
                      std::vector<int32_t>& ids) const = 0;
  /// How many bytes at the start of `text`, which may go on behind its end, can be encoded on their
  /// own: the ids of both pieces are those of the whole, and no code point lies in both. 0: more
  /// must be seen first.
  virtual size_t cut(std::string_view text) const = 0;
  /// The bytes of one token.
  virtual std::string bytes_of(int32_t id) const = 0;
  /// The bytes of all tokens, one after the other.
  std::string decode(std::span<const int32_t> ids) const;
  /// What stands between a text and tokens that go on behind it.
  virtual std::string gap_behind(std::string_view) const { return ""; }
  /// Whether decode() gives back every byte that was encoded.
  virtual bool lossless() const { return true; }
  /// The token that stands for what the vocabulary does not have, if there is one.
  virtual std::optional<int32_t> unknown() const { return std::nullopt; }
  /// What the tokenizer is, as bytes: two are the same iff these are. Stored in token files and
  /// checkpoints and read back by `load_tokenizer`.
  virtual std::string description() const = 0;
  /// SHA-256 of kind and description.
  std::string hash() const;
};

/// Which tokenizer, and how large.
struct TokenizerOptions {
  std::string kind = "byte";
  /// word: at most so many tokens, all by default; bpe, unigram: exactly so many.
  std::optional<int64_t> vocabulary = std::nullopt;
  int64_t min_frequency = 1;  ///< word: rarer words are unknown
};

/// The vocabulary of bpe and unigram, unless another is asked for.
inline constexpr int64_t kDefaultPieces = 8000;

/// Throws ConfigError on an unknown kind, and on options that the kind does not have.
void check_options(const TokenizerOptions& options);

/// Learns a tokenizer from the pieces of one text, each cut where cut() allows. Pieces may be seen
/// by several learners, whose findings are then merged in the order of the text: the result does
/// not depend on where the text was cut.
class TokenizerLearner {
 public:
  /// The place of an offset within the piece, for messages: "a.txt: byte 17 (line 2)".
  using Place = std::function<std::string(size_t offset)>;

  virtual ~TokenizerLearner() = default;
  /// True: the text of every split is to be seen, not only the training part.
  virtual bool sees_all() const { return false; }
  /// As Tokenizer::cut.
  virtual size_t cut(std::string_view text) const = 0;
  /// Throws DataError on a text that the tokenizer cannot be used for.
  virtual void see(std::string_view piece, const Place& place) = 0;
  /// Adds what a learner of the same options has seen, behind what this one has.
  virtual void merge(TokenizerLearner& other) = 0;
  /// Throws DataError when what was seen does not suffice. `origin` names the text.
  virtual std::unique_ptr<Tokenizer> learn(const std::string& origin) = 0;
};

/// Throws ConfigError as check_options does.
std::unique_ptr<TokenizerLearner> make_learner(const TokenizerOptions& options);
/// Learns from a text in memory.
std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerOptions& options, std::string_view text,
                                          const std::string& origin);
std::unique_ptr<Tokenizer> make_tokenizer(const std::string& kind, std::string_view text,
                                          const std::string& origin);
/// The tokenizer that `description` describes. Throws DataError.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& kind, const std::string& description);
/// All kinds, as tokenizers.def lists them.
std::vector<std::string> tokenizer_kinds();

/// Saves or loads "tokenizer/kind" and "tokenizer/description" (`tokenizer` is made when loading).
void visit_tokenizer(StateVisitor& v, std::shared_ptr<const Tokenizer>& tokenizer);

}  // namespace tapemeasure
