// SPDX-License-Identifier: MIT
#include "data/pair_file.h"

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/state_file.h"

namespace tapemeasure {

namespace {

constexpr const char* kSides[] = {"source", "target"};

std::string place_of(Split split, size_t side) {
  return std::string(name_of(split)) + "/" + kSides[side];
}

TokenLines read_lines(const Hdf5Reader& file, const std::string& place, int64_t vocabulary) {
  TokenLines lines;
  lines.tokens.resize(static_cast<size_t>(file.info(place + "/tokens").shape.at(0)));
  if (!lines.tokens.empty()) file.read(place + "/tokens", ElementType::kI32, lines.tokens.data());
  lines.ends = file.integers(place + "/ends");
  const bool whole =
      std::is_sorted(lines.ends.begin(), lines.ends.end()) &&
      (lines.ends.empty() ? 0 : lines.ends.back()) == static_cast<int64_t>(lines.tokens.size()) &&
      (lines.ends.empty() || lines.ends.front() >= 0) &&
      std::all_of(lines.tokens.begin(), lines.tokens.end(),
                  [&](int32_t id) { return id >= 0 && id < vocabulary; });
  check<DataError>(whole, "{}: {} is damaged: delete the file and start again", file.path(), place);
  return lines;
}

/// The lines of a text; a last one needs no line end.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Both texts as they are read.
struct PairTexts {
  std::array<std::string, 2> text;
  std::vector<TextFingerprint> fingerprints;

  explicit PairTexts(const PairOptions& options) {
    const std::string* const paths[] = {&options.source, &options.target};
    for (size_t side = 0; side < 2; ++side) {
      text[side] = read_file(*paths[side]);
      fingerprints.push_back({*paths[side], static_cast<int64_t>(text[side].size()),
                              sha256(std::as_bytes(std::span(text[side])))});
    }
  }
};

/// First lines of the three parts, and the number of all.
std::array<size_t, 4> cut(size_t lines, const std::vector<double>& split) {
  const double total = split[0] + split[1] + split[2];
  std::array<size_t, 4> borders{0, 0, 0, lines};
  double reached = 0;
  for (size_t part = 0; part < 2; ++part) {
    reached += split[part];
    borders[part + 1] =
        reached == total ? lines : static_cast<size_t>(double(lines) * reached / total);
  }
  return borders;
}

/// One tokenizer for both sides: of their training lines, or of all where it wants to see all.
std::shared_ptr<const Tokenizer> tokenizer_of(const PairTexts& texts, const PairOptions& options,
                                              const std::array<const char*, 2>& training_ends) {
  std::string seen;
  const bool all = make_learner(options.tokenizer)->sees_all();
  for (size_t side = 0; side < 2; ++side) {
    const std::string& text = texts.text[side];
    seen.append(text, 0,
                all ? text.size() : static_cast<size_t>(training_ends[side] - text.data()));
  }
  return make_tokenizer(options.tokenizer, seen, options.source + " + " + options.target);
}

void write_lines(Hdf5Writer& file, const std::string& place, const TokenLines& lines) {
  const auto tokens = static_cast<int64_t>(lines.tokens.size()), count = lines.size();
  file.array(place + "/tokens", ElementType::kI32, std::span(&tokens, 1), lines.tokens.data());
  file.array(place + "/ends", ElementType::kI64, std::span(&count, 1), lines.ends.data());
}

void write_pair_file(const PairTexts& texts, const PairOptions& options, const std::string& out) {
  std::array<std::vector<std::string_view>, 2> lines;
  for (size_t side = 0; side < 2; ++side) lines[side] = lines_of(texts.text[side]);
  check<DataError>(lines[0].size() == lines[1].size(),
                   "{} has {} lines, but {} has {}: line N of one must be the translation of line "
                   "N of the other",
                   options.source, lines[0].size(), options.target, lines[1].size());
  check<DataError>(!lines[0].empty(), "{}: the text is empty", options.source);
  const std::array<size_t, 4> borders = cut(lines[0].size(), options.split);
  std::array<const char*, 2> training_ends{};
  for (size_t side = 0; side < 2; ++side) {
    const std::string& text = texts.text[side];
    training_ends[side] = borders[1] < lines[side].size() ? lines[side][borders[1]].data()
                                                          : text.data() + text.size();
  }
  std::shared_ptr<const Tokenizer> tokenizer = tokenizer_of(texts, options, training_ends);
  Hdf5Writer file(kPairFormat);
  StateWriter writer(file);
  visit_tokenizer(writer, tokenizer);
  for (size_t part = 0; part < 3; ++part) {
    for (size_t side = 0; side < 2; ++side) {
      TokenLines encoded;
      for (size_t line = borders[part]; line < borders[part + 1]; ++line) {
        tokenizer->encode(lines[side][line],
                          fmt::format("{}: line {}", texts.fingerprints[side].path, line + 1),
                          encoded.tokens);
        encoded.ends.push_back(static_cast<int64_t>(encoded.tokens.size()));
      }
      write_lines(file, place_of(static_cast<Split>(part), side), encoded);
    }
  }
  for (size_t side = 0; side < 2; ++side) {
    TextFingerprint text = texts.fingerprints[side];
    visit_fingerprint(writer, fmt::format("texts/{}", side), text);
  }
  file.write(out);
}

std::string cache_name(const PairTexts& texts, const PairOptions& options) {
  std::string all = fmt::format("{}\n{} {} {}\n{}\n", kPairFormat, options.tokenizer.kind,
                                options.tokenizer.vocabulary.value_or(0),
                                options.tokenizer.min_frequency, fmt::join(options.split, "/"));
  for (const TextFingerprint& text : texts.fingerprints) {
    all += fmt::format("{} {} {}\n", text.sha256, text.bytes, text.path);
  }
  return sha256(std::as_bytes(std::span(all))).substr(0, 16) + ".h5";
}

}  // namespace

PairFile::PairFile(const std::string& path) : path_(path) {
  try {
    const Hdf5Reader file(path);
    check<DataError>(file.format() == kPairFormat,
                     "{}: not a file of pairs: its format is '{}', '{}' is wanted", path,
                     file.format(), kPairFormat);
    StateReader reader(file);
    visit_tokenizer(reader, tokenizer_);
    const auto parts = std::make_shared<Parts>();
    for (const Split split : {Split::kTrain, Split::kValid, Split::kTest}) {
      auto& sides = (*parts)[static_cast<size_t>(split)];
      for (size_t side = 0; side < 2; ++side) {
        sides[side] = read_lines(file, place_of(split, side), tokenizer_->vocabulary());
      }
      check<DataError>(sides[0].size() == sides[1].size(), "{}: its sides differ in length", path);
    }
    parts_ = parts;
    for (size_t side = 0; side < 2; ++side) {
      visit_fingerprint(reader, fmt::format("texts/{}", side), texts_.emplace_back());
    }
  } catch (const CheckpointError& error) {
    throw DataError(error.what());
  }
}

std::string PairFile::origin(Split split) const {
  return fmt::format("{} + {} ({})", texts_[0].path, texts_[1].path, name_of(split));
}

int64_t PairFile::training_tokens() const {
  const auto& part = (*parts_)[0];
  return static_cast<int64_t>(part[0].tokens.size() + part[1].tokens.size());
}

PairFile cached_pair_file(const PairOptions& options, const std::string& cache) {
  const PairTexts texts(options);
  const std::string path = cache + "/" + cache_name(texts, options);
  if (std::filesystem::exists(path)) {
    try {
      return PairFile(path);
    } catch (const DataError&) {
      // Damaged: it is made again.
    }
  }
  std::error_code error;
  std::filesystem::create_directories(cache, error);
  check<DataError>(!error,
                   "{}: cannot make this folder for prepared texts: {}; name another with "
                   "--cache",
                   cache, error.message());
  try {
    write_pair_file(texts, options, path);
  } catch (const CheckpointError& failure) {
    throw DataError(
        fmt::format("{}; prepared texts are kept in {}: name another folder with "
                    "--cache",
                    failure.what(), cache));
  }
  return PairFile(path);
}

}  // namespace tapemeasure
