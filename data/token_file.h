// SPDX-License-Identifier: MIT
// A prepared text: the tokens of its splits in one HDF5 file, contiguous and memory-mapped, with
// the tokenizer and the fingerprints of the texts it came from inside. Datasets: "SPLIT/tokens"
// (u8, u16 or u32, whichever holds the vocabulary), "SPLIT/block_sums" (XXH3-64 of each 64 KiB of
// tokens), "SPLIT/characters", "SPLIT/words", "SPLIT/bytes", "SPLIT/unknown" counts, "tokenizer/*",
// "texts/count", "texts/N/{path,bytes,sha256}", "texts/SPLIT" (how many of them are a split's own).
//
// A small file is checked as a whole when it is opened. Of a large one the layout is checked then,
// which takes milliseconds, and each block of tokens when it is first used.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/line_ends.h"
#include "data/text.h"
#include "data/tokenizer.h"

namespace tapemeasure {

inline constexpr const char* kTokenFormat = "tapemeasure-tokens 2";

enum class Split { kTrain, kValid, kTest };
const char* name_of(Split split);

/// Saves or loads "PLACE/path", "PLACE/bytes" and "PLACE/sha256".
void visit_fingerprint(StateVisitor& v, const std::string& place, TextFingerprint& text);

/// The sums of a split's blocks of tokens, and which of them were found right.
class TokenBlocks;

/// Tokens of one split, in memory-mapped storage of 1, 2 or 4 bytes each.
class TokenSpan {
 public:
  TokenSpan() = default;
  /// `vocabulary`: ids at or above it are damage. `blocks`: checked by copy(), if there are any.
  TokenSpan(const void* data, int width, int64_t size, int64_t vocabulary,
            const TokenBlocks* blocks = nullptr)
      : data_(data), width_(width), size_(size), vocabulary_(vocabulary), blocks_(blocks) {}
  int64_t size() const { return size_; }
  int32_t operator[](int64_t index) const {
    if (width_ == 1) return load<uint8_t>(index);
    return width_ == 2 ? load<uint16_t>(index) : static_cast<int32_t>(load<uint32_t>(index));
  }
  /// Tokens [first, first + count) as i32. Throws DataError at one outside the vocabulary, and at
  /// bytes that are not what was written.
  void copy(int64_t first, int64_t count, int32_t* out) const;

 private:
  // HDF5 places arrays at any byte.
  template <class T>
  T load(int64_t index) const {
    T value;
    std::memcpy(&value, static_cast<const std::byte*>(data_) + index * int64_t{sizeof(T)},
                sizeof(T));
    return value;
  }
  const void* data_ = nullptr;
  int width_ = 1;
  int64_t size_ = 0, vocabulary_ = 0;
  const TokenBlocks* blocks_ = nullptr;
};

class TokenFile {
 public:
  /// Files up to this size are checked as a whole when they are opened.
  static constexpr uint64_t kCheckedWhole = 64 << 20;

  /// Maps a prepared file. Throws DataError naming the path and the reason.
  explicit TokenFile(const std::string& path);
  ~TokenFile();
  TokenFile(TokenFile&&) noexcept;

  const std::string& path() const { return path_; }
  /// "a.txt + b.txt (train)": a split by the names of its texts, for messages; a split with files
  /// of its own by theirs.
  std::string origin(Split split) const;
  TokenSpan tokens(Split split) const;
  /// Characters (code points; bytes that are not UTF-8 count one each) and whitespace-separated
  /// words of a split.
  int64_t characters(Split split) const;
  int64_t words(Split split) const;
  int64_t bytes(Split split) const;
  /// Tokens that stand for what the vocabulary does not have.
  int64_t unknown(Split split) const;
  /// What became of the texts' line ends.
  LineEnds line_ends() const { return line_ends_; }
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  const std::vector<TextFingerprint>& texts() const { return texts_; }

 private:
  std::string path_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<TextFingerprint> texts_;
  LineEnds line_ends_ = LineEnds::kRaw;
  struct Mapping;
  std::unique_ptr<Mapping> mapping_;
};

/// Characters and words of a text, as token files count them.
int64_t count_characters(std::string_view text);
int64_t count_words(std::string_view text);

}  // namespace tapemeasure
