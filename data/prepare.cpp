// SPDX-License-Identifier: MIT
// Text files to token files, once per text and options.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/state_file.h"
#include "data/token_file.h"
#include "data/utf8.h"

namespace tapemeasure {

namespace fs = std::filesystem;

namespace {

/// The texts, one after the other.
struct Source {
  std::string text, origin;
  std::vector<TextFingerprint> fingerprints;

  /// "b.txt: byte 17 (line 2)": the file that holds an offset, and the place in it.
  std::string place(size_t offset) const {
    size_t begin = 0, index = 0;
    while (index + 1 < fingerprints.size() && offset >= begin + size_of_text(index)) {
      begin += size_of_text(index++);
    }
    const std::string_view piece = std::string_view(text).substr(begin, size_of_text(index));
    return fingerprints[index].path + ": " + place_in_text(piece, offset - begin);
  }
  size_t size_of_text(size_t index) const { return static_cast<size_t>(fingerprints[index].bytes); }
};

TextFingerprint fingerprint_of(const std::string& path, std::string_view text) {
  return {path, static_cast<int64_t>(text.size()), sha256(std::as_bytes(std::span(text)))};
}

Source read_source(const std::vector<std::string>& paths) {
  check<DataError>(!paths.empty(), "no text given");
  Source source;
  for (const std::string& path : paths) {
    check<DataError>(
        !path.ends_with(".h5"),
        "{}: a prepared text is used alone and as it is: give it as the only data.text", path);
    std::string text = read_file(path);
    source.fingerprints.push_back(fingerprint_of(path, text));
    if (source.text.empty()) {
      source.text = std::move(text);
    } else {
      source.text += text;
    }
  }
  source.origin = fmt::format("{}", fmt::join(paths, " + "));
  check<DataError>(!source.text.empty(), "{}: the text is empty", source.origin);
  return source;
}

/// Ends of the three parts, at code-point borders.
std::array<size_t, 3> cut(const std::string& text, const std::vector<double>& split) {
  double total = 0, reached = 0;
  for (const double share : split) total += share;
  std::array<size_t, 3> ends{};
  for (size_t part = 0; part < 3; ++part) {
    reached += split[part];
    const auto offset = static_cast<size_t>(static_cast<double>(text.size()) * reached / total);
    ends[part] = part == 2 || reached == total ? text.size() : code_point_border(text, offset);
  }
  return ends;
}

std::vector<std::string> notices_of(const Source& source) {
  std::vector<std::string> notices;
  const std::string& text = source.text;
  for (size_t at = text.find("\xEF\xBB\xBF"); at != std::string::npos;
       at = text.find("\xEF\xBB\xBF", at + 3)) {
    notices.push_back(fmt::format("{}: a byte-order mark, kept as text", source.place(at)));
    if (notices.size() == 3) break;
  }
  size_t pairs = 0, lone = 0;
  for (size_t at = text.find('\r'); at != std::string::npos; at = text.find('\r', at + 1)) {
    ++(at + 1 < text.size() && text[at + 1] == '\n' ? pairs : lone);
  }
  if (pairs + lone > 0) {
    notices.push_back(fmt::format("{}: {} CRLF and {} lone CR line ends are kept as text",
                                  source.origin, pairs, lone));
  }
  const auto zeros = std::count(text.begin(), text.end(), '\0');
  if (zeros > 0) {
    notices.push_back(fmt::format("{}: the first of {} NUL bytes, kept as text",
                                  source.place(text.find('\0')), zeros));
  }
  return notices;
}

template <class T>
void write_tokens(Hdf5Writer& file, const std::string& name, ElementType type,
                  const std::vector<int32_t>& ids) {
  const std::vector<T> narrow(ids.begin(), ids.end());
  const auto count = static_cast<int64_t>(narrow.size());
  file.array(name, type, std::span(&count, 1), narrow.data());
}

void write_part(Hdf5Writer& file, const Tokenizer& tokenizer, const std::string& name,
                std::string_view text, const std::vector<int32_t>& ids) {
  const int64_t vocabulary = tokenizer.vocabulary();
  if (vocabulary <= 1 << 8) {
    write_tokens<uint8_t>(file, name + "/tokens", ElementType::kU8, ids);
  } else if (vocabulary <= 1 << 16) {
    write_tokens<uint16_t>(file, name + "/tokens", ElementType::kU16, ids);
  } else {
    write_tokens<uint32_t>(file, name + "/tokens", ElementType::kU32, ids);
  }
  file.integer(name + "/bytes", static_cast<int64_t>(text.size()));
  file.integer(name + "/characters", count_characters(text));
  file.integer(name + "/words", count_words(text));
}

/// Makes the tokenizer; what is wrong is told with its place in the one file that holds it.
std::shared_ptr<const Tokenizer> tokenizer_of(const Source& source, const std::string& kind) {
  try {
    return make_tokenizer(kind, source.text, source.origin);
  } catch (const DataError&) {
    size_t begin = 0;
    for (const TextFingerprint& text : source.fingerprints) {
      const auto size = static_cast<size_t>(text.bytes);
      make_tokenizer(kind, std::string_view(source.text).substr(begin, size), text.path);
      begin += size;
    }
    throw;
  }
}

PrepareReport write_token_file(const Source& source, const PrepareOptions& options,
                               const std::string& out) {
  const std::string_view text = source.text;
  std::shared_ptr<const Tokenizer> tokenizer = tokenizer_of(source, options.tokenizer);
  PrepareReport report;
  report.bytes = static_cast<int64_t>(text.size());
  report.vocabulary = tokenizer->vocabulary();
  report.notices = notices_of(source);
  Hdf5Writer file(kTokenFormat);
  StateWriter writer(file);
  visit_tokenizer(writer, tokenizer);
  const std::array<size_t, 3> ends = cut(source.text, options.split);
  for (size_t part = 0, begin = 0; part < 3; begin = ends[part++]) {
    const std::string_view piece = text.substr(begin, ends[part] - begin);
    std::vector<int32_t> ids;
    tokenizer->encode(piece, source.origin, ids);
    write_part(file, *tokenizer, name_of(static_cast<Split>(part)), piece, ids);
    report.tokens[part] = static_cast<int64_t>(ids.size());
  }
  file.integer("texts/count", static_cast<int64_t>(source.fingerprints.size()));
  for (size_t i = 0; i < source.fingerprints.size(); ++i) {
    TextFingerprint text = source.fingerprints[i];
    visit_fingerprint(writer, fmt::format("texts/{}", i), text);
  }
  file.write(out);
  return report;
}

/// Name of the cached file: a hash of everything that decides its contents.
std::string cache_name(const Source& source, const PrepareOptions& options) {
  std::string all =
      fmt::format("{}\n{}\n{}\n", kTokenFormat, options.tokenizer, fmt::join(options.split, "/"));
  for (const TextFingerprint& text : source.fingerprints) {
    all += fmt::format("{} {} {}\n", text.sha256, text.bytes, text.path);
  }
  return sha256(std::as_bytes(std::span(all))).substr(0, 16) + ".h5";
}

bool is_prepared(const PrepareOptions& options) {
  return options.texts.size() == 1 && options.texts[0].ends_with(".h5");
}

/// The writer's errors are about files of ours, but to the user they are about the data.
template <class F>
auto as_data_error(const std::string& advice, F work) {
  try {
    return work();
  } catch (const CheckpointError& error) {
    throw DataError(error.what() + advice);
  }
}

TokenFile open_prepared(const PrepareOptions& options) {
  TokenFile file(options.texts[0]);
  check<DataError>(file.tokenizer()->kind() == options.tokenizer,
                   "{}: was prepared with tokenizer {}, but data.tokenizer is {}: set "
                   "data.tokenizer: {}, or prepare the text again",
                   file.path(), file.tokenizer()->kind(), options.tokenizer,
                   file.tokenizer()->kind());
  return file;
}

}  // namespace

PrepareReport prepare(const PrepareOptions& options, const std::string& out) {
  const Source source = read_source(options.texts);
  return as_data_error("", [&] { return write_token_file(source, options, out); });
}

TokenFile cached_token_file(const PrepareOptions& options, const std::string& cache,
                            std::vector<std::string>& notices) {
  if (is_prepared(options)) return open_prepared(options);
  const Source source = read_source(options.texts);
  const std::string path = cache + "/" + cache_name(source, options);
  if (fs::exists(path)) {
    try {
      TokenFile file(path);
      notices = notices_of(source);
      return file;
    } catch (const DataError& error) {
      notices.push_back(fmt::format("{}; preparing the text again", error.what()));
    }
  }
  std::error_code error;
  fs::create_directories(cache, error);
  check<DataError>(!error,
                   "{}: cannot make this folder for prepared texts: {}; name another with "
                   "--cache",
                   cache, error.message());
  const std::string advice =
      fmt::format("; prepared texts are kept in {}: name another folder with --cache", cache);
  const PrepareReport report =
      as_data_error(advice, [&] { return write_token_file(source, options, path); });
  notices.insert(notices.end(), report.notices.begin(), report.notices.end());
  return TokenFile(path);
}

std::string default_cache() {
  const char* base = std::getenv("XDG_CACHE_HOME");
  if (base && *base) return std::string(base) + "/tapemeasure";
  const char* home = std::getenv("HOME");
  return std::string(home && *home ? home : ".") + "/.cache/tapemeasure";
}

}  // namespace tapemeasure
