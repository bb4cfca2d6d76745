// SPDX-License-Identifier: MIT
// Prepared pairs: two texts whose lines translate each other, as tokens of one tokenizer, in one
// HDF5 file. Datasets: "SPLIT/source/tokens", "SPLIT/source/ends" (of each line, without its line
// end), the same for target, "tokenizer/*", "texts/N/*" (0 the source, 1 the target).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/token_file.h"

namespace tapemeasure {

inline constexpr const char* kPairFormat = "tapemeasure-pairs 1";

/// Sequences of tokens one after the other.
struct TokenLines {
  std::vector<int32_t> tokens;
  std::vector<int64_t> ends;

  int64_t size() const { return static_cast<int64_t>(ends.size()); }
  std::span<const int32_t> operator[](int64_t line) const {
    const int64_t begin = line == 0 ? 0 : ends[static_cast<size_t>(line - 1)];
    return std::span(tokens).subspan(static_cast<size_t>(begin),
                                     static_cast<size_t>(ends[static_cast<size_t>(line)] - begin));
  }
};

/// The pairs of one split.
struct PairSpan {
  const TokenLines* source = nullptr;
  const TokenLines* target = nullptr;
  int64_t size() const { return source ? source->size() : 0; }
};

/// How two texts become a file of pairs.
struct PairOptions {
  std::string source, target;
  TokenizerOptions tokenizer = {};
  std::vector<double> split = {90, 5, 5};  ///< shares of train, valid, test, by lines
};

class PairFile {
 public:
  /// Reads a prepared file. Throws DataError naming the path and the reason.
  explicit PairFile(const std::string& path);

  const std::string& path() const { return path_; }
  /// "a.en + a.de (train)".
  std::string origin(Split split) const;
  PairSpan pairs(Split split) const {
    const auto& part = (*parts_)[static_cast<size_t>(split)];
    return {&part[0], &part[1]};
  }
  int64_t training_tokens() const;
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  const std::vector<TextFingerprint>& texts() const { return texts_; }

 private:
  using Parts = std::array<std::array<TokenLines, 2>, 3>;  // by split and side
  std::string path_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<TextFingerprint> texts_;
  std::shared_ptr<const Parts> parts_;  // where it is: spans point into it
};

/// The pairs for the options, prepared once and kept in `cache` under the hash of texts and
/// options. One tokenizer is made of the training lines of both sides (char: of all lines). Throws
/// DataError naming both files and numbers when they differ in lines, and what TokenFile's
/// preparation throws.
PairFile cached_pair_file(const PairOptions& options, const std::string& cache);

}  // namespace tapemeasure
