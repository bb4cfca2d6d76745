// SPDX-License-Identifier: MIT
// Text to token ids and back. Bytes in = bytes out, always. A tokenizer lives in one file of this
// folder and one line of tokenizers.def.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/state.h"

namespace tapemeasure {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  /// "byte", "char".
  virtual std::string kind() const = 0;
  virtual int64_t vocabulary() const = 0;
  /// Appends the ids of `text`. Throws DataError for what it cannot encode, naming `origin` (a
  /// file, "the prompt"), the byte offset and line, and the offending bytes or character.
  virtual void encode(std::string_view text, const std::string& origin,
                      std::vector<int32_t>& ids) const = 0;
  /// The bytes of one token.
  virtual std::string bytes_of(int32_t id) const = 0;
  /// The bytes of all tokens, one after the other.
  std::string decode(std::span<const int32_t> ids) const;
  /// What the tokenizer is, as bytes: two are the same iff these are. Stored in token files and
  /// checkpoints and read back by `load_tokenizer`.
  virtual std::string description() const = 0;
  /// SHA-256 of kind and description.
  std::string hash() const;
};

/// Learns a tokenizer of this kind from a text. Throws ConfigError on an unknown
/// kind, DataError on a text that it cannot use.
std::unique_ptr<Tokenizer> make_tokenizer(const std::string& kind, std::string_view text,
                                          const std::string& origin);
/// The tokenizer that `description` describes.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& kind, const std::string& description);
/// All kinds, as tokenizers.def lists them.
std::vector<std::string> tokenizer_kinds();

/// Saves or loads "tokenizer/kind" and "tokenizer/description" (`tokenizer` is made when loading).
void visit_tokenizer(StateVisitor& v, std::shared_ptr<const Tokenizer>& tokenizer);

}  // namespace tapemeasure
