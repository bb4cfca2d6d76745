// SPDX-License-Identifier: MIT
// Text files read as one, piece by piece: what they hold never lies in memory as a whole.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/line_ends.h"

namespace tapemeasure {

/// What a text was when it was read.
struct TextFingerprint {
  std::string path;  ///< as typed
  int64_t bytes = 0;
  std::string sha256;
};

class Text {
 public:
  /// Opens the files. Throws DataError naming the first that cannot be read: missing, a folder, a
  /// device, no permission; or that has the name of a prepared text. What comes through a pipe is
  /// kept in a file without a name.
  explicit Text(const std::vector<std::string>& paths);
  ~Text();
  Text(Text&&) noexcept;

  uint64_t size() const { return size_; }
  /// "a.txt + b.txt".
  std::string origin() const;
  /// Fills `bytes` from `offset` on. Throws DataError when the text has become shorter.
  void read(uint64_t offset, std::span<char> bytes) const;
  /// "b.txt: byte 17 (line 2)": the file that holds an offset, and the place in it.
  std::string place(uint64_t offset) const;
  /// Reads everything once: the fingerprint of each file, and what there is to say of the text, a
  /// line each: byte-order marks, CR in line ends, NUL bytes.
  std::vector<TextFingerprint> survey(LineEnds line_ends, std::vector<std::string>& notices) const;
  /// Throws DataError if a file is not what it was when it was opened.
  void check_unchanged() const;

 private:
  struct File;
  std::vector<std::unique_ptr<File>> files_;
  uint64_t size_ = 0;
};

/// A part of a text.
struct TextRange {
  const Text* text = nullptr;
  uint64_t begin = 0, end = 0;
};

/// Goes through a part of a text in pieces of a few megabytes.
class ChunkReader {
 public:
  /// `cut`: as Tokenizer::cut. Where it allows none, a piece grows.
  ChunkReader(TextRange range, std::function<size_t(std::string_view)> cut)
      : range_(range), cut_(std::move(cut)), read_(range.begin) {}
  /// The next piece and the offset of its first byte. False at the end.
  bool next(std::string& piece, uint64_t& offset);

 private:
  TextRange range_;
  std::function<size_t(std::string_view)> cut_;
  uint64_t read_;      // how far the text was read
  std::string carry_;  // what was read and belongs to the next piece
};

}  // namespace tapemeasure
