// SPDX-License-Identifier: MIT
// The texts of a token file, opened and cut into splits.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "data/prepare.h"
#include "data/text.h"

namespace tapemeasure {

class SplitTexts {
 public:
  /// Opens the texts and reads them once. Throws what Text does.
  explicit SplitTexts(const PrepareOptions& options);

  /// What a split is cut from.
  const TextRange& part(Split split) const { return parts_[static_cast<size_t>(split)]; }
  /// The texts of all splits first, then the splits' own.
  const std::vector<TextFingerprint>& fingerprints() const { return fingerprints_; }
  /// Of the fingerprints, how many are a split's own; of train: the texts of all splits.
  int64_t own_texts(Split split) const { return own_[static_cast<size_t>(split)]; }
  const std::vector<std::string>& notices() const { return notices_; }
  /// Throws DataError if a text is not what it was when it was opened.
  void check_unchanged() const;

 private:
  const Text& add(const std::vector<std::string>& paths, Split split);
  std::vector<std::unique_ptr<Text>> texts_;
  std::array<TextRange, 3> parts_;
  std::array<int64_t, 3> own_{};
  std::vector<TextFingerprint> fingerprints_;
  std::vector<std::string> notices_;
};

/// Learns the tokenizer: from the training part, unless it wants to see all.
std::shared_ptr<const Tokenizer> learn_tokenizer(const SplitTexts& texts,
                                                 const TokenizerOptions& options);

/// Encodes a corpus and writes its token file. Throws CheckpointError when it cannot be written.
PrepareReport write_token_file(const SplitTexts& texts, const PrepareOptions& options,
                               const std::string& out);

}  // namespace tapemeasure
