// SPDX-License-Identifier: MIT
#include "data/prepare.h"

#include <chrono>

#include "core/error.h"
#include "core/file/state_file.h"
#include "data/split_texts.h"
#include "data/token_spool.h"

namespace tapemeasure {

namespace {

constexpr Split kSplits[] = {Split::kTrain, Split::kValid, Split::kTest};

TokenSpool encode_part(const SplitTexts& corpus, Split split, const Tokenizer& tokenizer,
                       const std::string& out) {
  const std::string origin = corpus.part(split).text->origin();
  TokenSpool spool(out, token_type(tokenizer.vocabulary()));
  corpus.for_each_piece(
      split, [&](std::string_view text) { return tokenizer.cut(text); },
      [&](std::string_view piece, const TokenizerLearner::Place&) {
        try {
          return encode_piece(tokenizer, piece, origin);
        } catch (const DataError&) {
          corpus.check_unchanged();  // what was learned from can be encoded, unless it changed
          throw;
        }
      },
      [&](const EncodedPiece& piece) { spool.append(piece); });
  return spool;
}

void add_texts(Hdf5Writer& file, const SplitTexts& corpus) {
  StateWriter writer(file);
  file.integer("texts/count", static_cast<int64_t>(corpus.fingerprints().size()));
  file.integer("texts/lf", corpus.line_ends() == LineEnds::kLf ? 1 : 0);
  for (size_t i = 0; i < corpus.fingerprints().size(); ++i) {
    TextFingerprint text = corpus.fingerprints()[i];
    visit_fingerprint(writer, fmt::format("texts/{}", i), text);
  }
  for (const Split split : kSplits) {
    file.integer(std::string("texts/") + name_of(split), corpus.own_texts(split));
  }
}

}  // namespace

PrepareReport write_token_file(const SplitTexts& corpus, const PrepareOptions& options,
                               const std::string& out) {
  std::shared_ptr<const Tokenizer> tokenizer = learn_tokenizer(corpus, options.tokenizer_options());
  PrepareReport report;
  report.vocabulary = tokenizer->vocabulary();
  report.lossless = tokenizer->lossless();
  report.notices = corpus.notices();
  Hdf5Writer file(kTokenFormat, true);
  StateWriter writer(file);
  visit_tokenizer(writer, tokenizer);
  std::vector<TokenSpool> spools;
  for (const Split split : kSplits) {
    spools.push_back(encode_part(corpus, split, *tokenizer, out));
  }
  corpus.check_unchanged();
  for (const Split split : kSplits) {
    const auto part = static_cast<size_t>(split);
    spools[part].add_to(file, name_of(split));
    report.bytes += spools[part].bytes();
    report.tokens[part] = spools[part].tokens();
    report.unknown[part] = spools[part].unknown();
  }
  add_texts(file, corpus);
  file.write(out);
  return report;
}

void settle_split(PrepareOptions& options, bool given) {
  const std::vector<std::string>* own[] = {nullptr, &options.valid, &options.test};
  for (size_t part = 1; part < 3; ++part) {
    if (own[part]->empty()) continue;
    const char* name = name_of(static_cast<Split>(part));
    check<ConfigError>(
        !given || options.split[part] == 0,
        "the split takes {} for {} from the text, and {} has a file of its own: make "
        "its share 0",
        options.split[part], name, name);
    options.split[part] = 0;
  }
}

PrepareReport prepare(const PrepareOptions& options, const std::string& out) {
  const auto start = std::chrono::steady_clock::now();
  check_options(options.tokenizer_options());
  try {
    const SplitTexts corpus(options);
    PrepareReport report = write_token_file(corpus, options, out);
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
  } catch (const CheckpointError& error) {
    // The writer's errors are about files of ours, but to the user they are about the data.
    throw DataError(error.what());
  }
}

std::string unknown_notice(const int64_t (&unknown)[3], const int64_t (&tokens)[3]) {
  std::string notice;
  for (size_t part = 0; part < 3; ++part) {
    if (unknown[part] == 0) continue;
    notice +=
        fmt::format("{} {} of {} tokens of {} ({:.2f} %)", notice.empty() ? "<unk>:" : ",",
                    unknown[part], tokens[part], name_of(static_cast<Split>(part)),
                    100.0 * static_cast<double>(unknown[part]) / static_cast<double>(tokens[part]));
  }
  return notice;
}

}  // namespace tapemeasure
