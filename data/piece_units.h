// SPDX-License-Identifier: MIT
// How a text is laid before the SentencePiece library, which takes valid UTF-8 without some marks
// of its own, forgets lines beyond a length, and slows down on long ones. A text is a row of units:
// a word with the space before it, at most kLongestUnit bytes; or bytes that the library must not
// see and that are tokens one by one: control characters, what is not UTF-8, the library's marks.
// Pieces never cross a space, so nothing is lost by encoding unit by unit, and what surrounds a
// unit cannot change its tokens.
#pragma once

#include <string_view>

namespace tapemeasure {

/// A word without an end is cut here, between code points.
inline constexpr size_t kLongestUnit = 1024;

struct PieceUnit {
  std::string_view bytes;
  bool raw = false;  ///< bytes that are tokens one by one
};

/// The unit that begins at `offset`. REQUIRES: offset < text.size(), and a unit begins there.
PieceUnit unit_at(std::string_view text, size_t offset);
/// As Tokenizer::cut: the last place where a unit begins whatever follows `text`.
size_t cut_units(std::string_view text);

}  // namespace tapemeasure
