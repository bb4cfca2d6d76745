// SPDX-License-Identifier: MIT
// The texts of a token file, opened and cut into splits.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "data/chunks.h"
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
  LineEnds line_ends() const { return line_ends_; }
  /// As for_each_chunk, with the line ends that were asked for: work(piece, place) and
  /// take(result).
  template <class Work, class Take>
  void for_each_piece(Split split, const std::function<size_t(std::string_view)>& cut,
                      const Work& work, const Take& take) const;
  /// Throws DataError if a text is not what it was when it was opened.
  void check_unchanged() const;

 private:
  const Text& add(const std::vector<std::string>& paths, Split split);
  std::vector<std::unique_ptr<Text>> texts_;
  LineEnds line_ends_;
  std::array<TextRange, 3> parts_;
  std::array<int64_t, 3> own_{};
  std::vector<TextFingerprint> fingerprints_;
  std::vector<std::string> notices_;
};

template <class Work, class Take>
void SplitTexts::for_each_piece(Split split, const std::function<size_t(std::string_view)>& cut,
                                const Work& work, const Take& take) const {
  const TextRange& range = part(split);
  const bool lf = line_ends_ == LineEnds::kLf;
  for_each_chunk(
      range,
      [&](std::string_view raw) {
        if (!lf) return cut(raw);
        // The other half of a pair may come next.
        if (raw.ends_with('\r')) raw.remove_suffix(1);
        return bytes_behind_lf(raw, cut(with_lf(raw)));
      },
      [&](std::string_view raw, uint64_t begin) {
        const TokenizerLearner::Place place = [&](size_t offset) {
          return range.text->place(begin + (lf ? bytes_behind_lf(raw, offset) : offset));
        };
        return lf ? work(std::string_view(with_lf(raw)), place) : work(raw, place);
      },
      take);
}

/// Learns the tokenizer: from the training part, unless it wants to see all.
std::shared_ptr<const Tokenizer> learn_tokenizer(const SplitTexts& texts,
                                                 const TokenizerOptions& options);

/// Encodes a corpus and writes its token file. Throws CheckpointError when it cannot be written.
PrepareReport write_token_file(const SplitTexts& texts, const PrepareOptions& options,
                               const std::string& out);

}  // namespace tapemeasure
