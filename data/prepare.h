// SPDX-License-Identifier: MIT
// Text files to token files: streaming, on several threads, once per text and options.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/line_ends.h"
#include "data/token_file.h"

namespace tapemeasure {

/// How a text becomes a token file.
struct PrepareOptions {
  std::vector<std::string> texts;  ///< read one after the other
  std::string tokenizer = "byte";
  std::vector<double> split = {90, 5, 5};  ///< shares of train, valid, test, by bytes
  std::optional<int64_t> vocabulary = std::nullopt;
  int64_t min_frequency = 1;
  /// Files of their own for these splits, which then take nothing of `texts`: see settle_split.
  std::vector<std::string> valid = {}, test = {};
  LineEnds line_ends = LineEnds::kRaw;

  TokenizerOptions tokenizer_options() const { return {tokenizer, vocabulary, min_frequency}; }
};

/// Makes the shares of splits with files of their own 0. If the shares were `given`, they must be 0
/// already: ConfigError otherwise.
void settle_split(PrepareOptions& options, bool given);

/// What `prepare` did, for people.
struct PrepareReport {
  int64_t bytes = 0, vocabulary = 0;
  int64_t tokens[3] = {0, 0, 0}, unknown[3] = {0, 0, 0};
  bool lossless = true;
  double seconds = 0;
  std::vector<std::string> notices;  ///< a byte-order mark, CRLF line ends, NUL bytes
};

/// Splits the texts at code-point borders by bytes (rounding the borders down), makes the tokenizer
/// (from the training part; char from all: see char.cpp), and writes the token file atomically.
/// Memory does not grow with the text, save for the different words that word, bpe and unigram
/// count. Throws DataError naming file, byte offset and line: missing, a folder, no permission,
/// empty, not UTF-8.
PrepareReport prepare(const PrepareOptions& options, const std::string& out);

/// The token file for the options, prepared once and kept in `cache` under the hash of texts and
/// options. A single prepared .h5 file is used as it is; its tokenizer must be the one asked for.
/// `notices` receives what there is to say.
TokenFile cached_token_file(const PrepareOptions& options, const std::string& cache,
                            std::vector<std::string>& notices);
/// $XDG_CACHE_HOME/tapemeasure or ~/.cache/tapemeasure.
std::string default_cache();

/// "<unk>: 12 of 3456 tokens of train (0.35 %), ...", or "" when all tokens are known.
std::string unknown_notice(const int64_t (&unknown)[3], const int64_t (&tokens)[3]);

}  // namespace tapemeasure
