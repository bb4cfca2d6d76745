// SPDX-License-Identifier: MIT
// Token files that are made once and kept.
#include <cstdlib>
#include <filesystem>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "data/split_texts.h"

namespace tapemeasure {

namespace fs = std::filesystem;

namespace {

/// Name of the cached file: a hash of everything that decides its contents.
std::string cache_name(const SplitTexts& corpus, const PrepareOptions& options) {
  const bool pieces = options.tokenizer == "bpe" || options.tokenizer == "unigram";
  const int64_t vocabulary = options.vocabulary.value_or(pieces ? kDefaultPieces : 0);
  std::string all = fmt::format("{}\n{} {} {}\n{}\n{} {} {}\n", kTokenFormat, options.tokenizer,
                                vocabulary, options.min_frequency, fmt::join(options.split, "/"),
                                corpus.own_texts(Split::kValid), corpus.own_texts(Split::kTest),
                                kLineEnds[static_cast<int>(options.line_ends)]);
  for (const TextFingerprint& text : corpus.fingerprints()) {
    all += fmt::format("{} {} {}\n", text.sha256, text.bytes, text.path);
  }
  return sha256(std::as_bytes(std::span(all))).substr(0, 16) + ".h5";
}

bool is_prepared(const PrepareOptions& options) {
  return options.texts.size() == 1 && options.texts[0].ends_with(".h5");
}

TokenFile open_prepared(const PrepareOptions& options) {
  check<ConfigError>(options.valid.empty() && options.test.empty(),
                     "{}: a prepared text has its own splits: leave out the files for valid and "
                     "test",
                     options.texts[0]);
  TokenFile file(options.texts[0]);
  const Tokenizer& tokenizer = *file.tokenizer();
  check<DataError>(tokenizer.kind() == options.tokenizer,
                   "{}: was prepared with tokenizer {}, but data.tokenizer is {}: set "
                   "data.tokenizer: {}, or prepare the text again",
                   file.path(), tokenizer.kind(), options.tokenizer, tokenizer.kind());
  const int64_t size = tokenizer.vocabulary(), wanted = options.vocabulary.value_or(size);
  const bool fits = options.tokenizer == "word" ? size <= wanted : size == wanted;
  check<DataError>(fits,
                   "{}: was prepared with a vocabulary of {}, but data.vocabulary is {}: leave it "
                   "out, or prepare the text again",
                   file.path(), size, wanted);
  const auto word = [](LineEnds line_ends) { return kLineEnds[static_cast<int>(line_ends)]; };
  check<DataError>(file.line_ends() == options.line_ends,
                   "{}: was prepared with line ends {}, but data.newline is {}: set data.newline: "
                   "{}, or prepare the text again",
                   file.path(), word(file.line_ends()), word(options.line_ends),
                   word(file.line_ends()));
  return file;
}

void add_unknown(const TokenFile& file, std::vector<std::string>& notices) {
  int64_t unknown[3], tokens[3];
  for (const Split split : {Split::kTrain, Split::kValid, Split::kTest}) {
    unknown[static_cast<int>(split)] = file.unknown(split);
    tokens[static_cast<int>(split)] = file.tokens(split).size();
  }
  const std::string notice = unknown_notice(unknown, tokens);
  if (!notice.empty()) notices.push_back(notice);
}

void make_cache(const std::string& cache) {
  std::error_code error;
  fs::create_directories(cache, error);
  check<DataError>(!error,
                   "{}: cannot make this folder for prepared texts: {}; name another with "
                   "--cache",
                   cache, error.message());
  remove_leftovers(cache);
}

}  // namespace

TokenFile cached_token_file(const PrepareOptions& options, const std::string& cache,
                            std::vector<std::string>& notices) {
  if (is_prepared(options)) {
    TokenFile file = open_prepared(options);
    add_unknown(file, notices);
    return file;
  }
  check_options(options.tokenizer_options());
  try {
    const SplitTexts corpus(options);
    const std::string path = cache + "/" + cache_name(corpus, options);
    if (fs::exists(path)) {
      try {
        TokenFile file(path);
        notices = corpus.notices();
        add_unknown(file, notices);
        return file;
      } catch (const DataError& error) {
        notices.push_back(fmt::format("{}; preparing the text again", error.what()));
      }
    }
    make_cache(cache);
    const PrepareReport report = write_token_file(corpus, options, path);
    notices.insert(notices.end(), report.notices.begin(), report.notices.end());
    TokenFile file(path);
    add_unknown(file, notices);
    return file;
  } catch (const CheckpointError& error) {
    throw DataError(
        fmt::format("{}; prepared texts are kept in {}: name another folder with --cache",
                    error.what(), cache));
  }
}

std::string default_cache() {
  const char* base = std::getenv("XDG_CACHE_HOME");
  if (base && *base) return std::string(base) + "/tapemeasure";
  const char* home = std::getenv("HOME");
  return std::string(home && *home ? home : ".") + "/.cache/tapemeasure";
}

}  // namespace tapemeasure
