// SPDX-License-Identifier: MIT
// A prepared text: the tokens of its splits in one HDF5 file, contiguous and memory-mapped, with
// the tokenizer and the fingerprints of the texts it came from inside. Datasets: "SPLIT/tokens"
// (u8, u16 or u32, whichever holds the vocabulary), "SPLIT/characters", "SPLIT/words",
// "SPLIT/bytes" counts, "tokenizer/*", "texts/count", "texts/N/{path,bytes,sha256}".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenizer.h"

namespace tapemeasure {

inline constexpr const char* kTokenFormat = "tapemeasure-tokens 1";

enum class Split { kTrain, kValid, kTest };
const char* name_of(Split split);

/// What a text was when it was read.
struct TextFingerprint {
  std::string path;  ///< as typed
  int64_t bytes = 0;
  std::string sha256;
};

/// Saves or loads "PLACE/path", "PLACE/bytes" and "PLACE/sha256".
void visit_fingerprint(StateVisitor& v, const std::string& place, TextFingerprint& text);

/// Tokens of one split, in memory-mapped storage of 1, 2 or 4 bytes each.
class TokenSpan {
 public:
  TokenSpan() = default;
  /// `vocabulary`: ids at or above it are damage.
  TokenSpan(const void* data, int width, int64_t size, int64_t vocabulary)
      : data_(data), width_(width), size_(size), vocabulary_(vocabulary) {}
  int64_t size() const { return size_; }
  int32_t operator[](int64_t index) const {
    if (width_ == 1) return static_cast<const uint8_t*>(data_)[index];
    if (width_ == 2) return static_cast<const uint16_t*>(data_)[index];
    return static_cast<int32_t>(static_cast<const uint32_t*>(data_)[index]);
  }
  /// Tokens [first, first + count) as i32. Throws DataError at one outside the vocabulary.
  void copy(int64_t first, int64_t count, int32_t* out) const;

 private:
  const void* data_ = nullptr;
  int width_ = 1;
  int64_t size_ = 0, vocabulary_ = 0;
};

/// How a text becomes a token file.
struct PrepareOptions {
  std::vector<std::string> texts;  ///< read one after the other
  std::string tokenizer = "byte";
  std::vector<double> split = {90, 5, 5};  ///< shares of train, valid, test, by bytes
};

class TokenFile {
 public:
  /// Maps a prepared file. Throws DataError naming the path and the reason.
  explicit TokenFile(const std::string& path);
  ~TokenFile();
  TokenFile(TokenFile&&) noexcept;

  const std::string& path() const { return path_; }
  /// "a.txt + b.txt (train)": a split by the names of its texts, for messages.
  std::string origin(Split split) const;
  TokenSpan tokens(Split split) const;
  /// Characters (code points; bytes that are not UTF-8 count one each) and whitespace-separated
  /// words of a split.
  int64_t characters(Split split) const;
  int64_t words(Split split) const;
  int64_t bytes(Split split) const;
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  const std::vector<TextFingerprint>& texts() const { return texts_; }

 private:
  std::string path_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<TextFingerprint> texts_;
  struct Mapping;
  std::unique_ptr<Mapping> mapping_;
};

/// What `prepare` did, for people.
struct PrepareReport {
  int64_t bytes = 0, vocabulary = 0;
  int64_t tokens[3] = {0, 0, 0};
  std::vector<std::string> notices;  ///< a byte-order mark, CRLF line ends, NUL bytes
};

/// Reads the texts, splits them at code-point borders by bytes (rounding the borders down), makes
/// the tokenizer (from the whole text: see char.cpp), and writes the token file atomically. Throws
/// DataError naming file, byte offset and line: missing, a folder, no permission, empty, not UTF-8.
PrepareReport prepare(const PrepareOptions& options, const std::string& out);

/// The token file for the options, prepared once and kept in `cache` under the hash of texts and
/// options. A single prepared .h5 file is used as it is; its tokenizer must be the one asked for.
/// `notices` receives what there is to say.
TokenFile cached_token_file(const PrepareOptions& options, const std::string& cache,
                            std::vector<std::string>& notices);
/// $XDG_CACHE_HOME/tapemeasure or ~/.cache/tapemeasure.
std::string default_cache();

/// Characters and words of a text, as token files count them.
int64_t count_characters(std::string_view text);
int64_t count_words(std::string_view text);

}  // namespace tapemeasure
