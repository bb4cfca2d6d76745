// SPDX-License-Identifier: MIT
// The tokens of one split on their way from the text to a token file: kept in a file without a
// name, since how many there will be is known only at the end, and counted and summed as they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/file/checksum.h"
#include "core/file/hdf5_file.h"
#include "data/tokenizer.h"

namespace tapemeasure {

/// Bytes of tokens under one sum in a token file.
inline constexpr size_t kTokenBlock = 1 << 16;

/// A piece of a text, encoded.
struct EncodedPiece {
  std::vector<std::byte> tokens;
  int64_t count = 0, unknown = 0, bytes = 0, characters = 0, words = 0;
  bool begins_in_word = false, ends_in_word = false;
};

/// The narrowest type that holds the ids of a vocabulary.
ElementType token_type(int64_t vocabulary);
EncodedPiece encode_piece(const Tokenizer& tokenizer, std::string_view piece,
                          const std::string& origin);

class TokenSpool {
 public:
  /// The file lies beside `target`, where the tokens are to go, and errors name that.
  TokenSpool(const std::string& target, ElementType type);
  ~TokenSpool();
  TokenSpool(TokenSpool&&) noexcept;

  /// Throws CheckpointError when the disk is full.
  void append(const EncodedPiece& piece);
  /// Adds "NAME/tokens", its sums and counts to a file. REQUIRES: this outlives the writing.
  void add_to(Hdf5Writer& file, const std::string& name);
  int64_t tokens() const { return total_.count; }
  int64_t unknown() const { return total_.unknown; }
  int64_t bytes() const { return total_.bytes; }

 private:
  void sum_block();
  std::string target_;
  ElementType type_;
  int fd_;
  EncodedPiece total_;  // without tokens
  Xxh3 sum_{Xxh3::Bits::k64};
  std::vector<std::byte> block_;
  std::vector<int64_t> block_sums_;
};

}  // namespace tapemeasure
