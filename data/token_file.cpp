// SPDX-License-Identifier: MIT
#include "data/token_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "core/file/checksum.h"
#include "core/file/state_file.h"
#include "core/utf8.h"
#include "data/token_spool.h"

namespace tapemeasure {

const char* name_of(Split split) {
  constexpr const char* kNames[] = {"train", "valid", "test"};
  return kNames[static_cast<int>(split)];
}

namespace {

/// Has these bytes of a mapping read at once, and no others: windows lie anywhere in a file, and
/// what the system would read ahead of each is not wanted.
void will_need(std::span<const std::byte> bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t first = begin / page * page;
  madvise(reinterpret_cast<void*>(first), begin + bytes.size() - first, MADV_WILLNEED);
}

}  // namespace

class TokenBlocks {
 public:
  TokenBlocks(std::string path, std::span<const std::byte> tokens, std::vector<int64_t> sums)
      : path_(std::move(path)), tokens_(tokens), sums_(std::move(sums)), right_(sums_.size()) {
    check<DataError>(sums_.size() == (tokens.size() + kTokenBlock - 1) / kTokenBlock,
                     "{}: damaged: there are not as many sums as blocks of tokens", path_);
  }

  /// Throws DataError unless the blocks that hold these bytes are right.
  void check_bytes(size_t begin, size_t end) const {
    for (size_t block = begin / kTokenBlock; block * kTokenBlock < end; ++block) {
      if (right_[block].load(std::memory_order_relaxed)) continue;
      const size_t at = block * kTokenBlock;
      const auto bytes = tokens_.subspan(at, std::min(kTokenBlock, tokens_.size() - at));
      will_need(bytes);
      check<DataError>(static_cast<int64_t>(xxh3_of(bytes)) == sums_[block],
                       "{}: damaged: tokens at bytes {} to {} do not match their checksum: delete "
                       "it and prepare the text again",
                       path_, at, at + bytes.size());
      right_[block].store(true, std::memory_order_relaxed);
    }
  }

 private:
  std::string path_;
  std::span<const std::byte> tokens_;
  std::vector<int64_t> sums_;
  mutable std::vector<std::atomic<bool>> right_;
};

void TokenSpan::copy(int64_t first, int64_t count, int32_t* out) const {
  bool inside = first >= 0 && first + count <= size_;
  if (inside) {
    if (blocks_) {
      blocks_->check_bytes(static_cast<size_t>(first * width_),
                           static_cast<size_t>((first + count) * width_));
    }
    for (int64_t i = 0; i < count; ++i) out[i] = (*this)[first + i];
    inside = std::all_of(out, out + count, [&](int32_t id) { return id >= 0 && id < vocabulary_; });
  }
  check<DataError>(inside,
                   "tokens {} to {} hold ids outside the vocabulary of {}: the token file is "
                   "damaged, delete it and prepare the text again",
                   first, first + count, vocabulary_);
}

struct TokenFile::Mapping {
  explicit Mapping(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (descriptor >= 0 && fstat(descriptor, &status) == 0) {
      size = static_cast<size_t>(status.st_size);
      data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    const int reason = errno;
    if (descriptor >= 0) close(descriptor);
    if (data != MAP_FAILED) madvise(data, size, MADV_RANDOM);
    check<DataError>(data != MAP_FAILED, "{}: cannot be mapped: {}", path, std::strerror(reason));
  }
  ~Mapping() {
    if (data != MAP_FAILED) munmap(data, size);
  }
  void* data = MAP_FAILED;
  size_t size = 0;
  struct Part {
    TokenSpan tokens;
    std::unique_ptr<TokenBlocks> blocks;
    int64_t characters = 0, words = 0, bytes = 0, unknown = 0, own_texts = 0;
  } parts[3];
};

void visit_fingerprint(StateVisitor& v, const std::string& place, TextFingerprint& text) {
  v.text(place + "/path", text.path);
  v.integer(place + "/bytes", text.bytes);
  v.text(place + "/sha256", text.sha256);
}

namespace {

Hdf5Check check_at_opening(const std::string& path) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  return !error && size > TokenFile::kCheckedWhole ? Hdf5Check::kLayout : Hdf5Check::kWhole;
}

}  // namespace

TokenFile::TokenFile(const std::string& path) : path_(path) {
  try {
    const Hdf5Reader file(path, check_at_opening(path));
    check<DataError>(file.format() == kTokenFormat,
                     "{}: not a token file of this program: its format is '{}', '{}' is wanted: "
                     "prepare the text again",
                     path, file.format(), kTokenFormat);
    StateReader reader(file);
    visit_tokenizer(reader, tokenizer_);
    mapping_ = std::make_unique<Mapping>(path);
    for (const Split split : {Split::kTrain, Split::kValid, Split::kTest}) {
      const std::string name = name_of(split), place = name + "/";
      const ArrayInfo info = file.info(place + "tokens");
      const auto width = static_cast<int>(size_of(info.type));
      const uint64_t offset = info.bytes == 0 ? 0 : file.offset(place + "tokens");
      check<DataError>(offset + info.bytes <= mapping_->size, "{}: cut short", path);
      Mapping::Part& part = mapping_->parts[static_cast<int>(split)];
      const std::span bytes(static_cast<const std::byte*>(mapping_->data) + offset, info.bytes);
      part.blocks = std::make_unique<TokenBlocks>(path, bytes, file.integers(place + "block_sums"));
      part.tokens = TokenSpan(bytes.data(), width, info.shape.at(0), tokenizer_->vocabulary(),
                              part.blocks.get());
      part.characters = file.integer(place + "characters");
      part.words = file.integer(place + "words");
      part.bytes = file.integer(place + "bytes");
      part.unknown = file.integer(place + "unknown");
      part.own_texts = file.integer("texts/" + name);
    }
    // Files of before there was a choice lack it.
    const bool lf = file.has("texts/lf") && file.integer("texts/lf") != 0;
    line_ends_ = lf ? LineEnds::kLf : LineEnds::kRaw;
    for (int64_t i = 0; i < file.integer("texts/count"); ++i) {
      visit_fingerprint(reader, fmt::format("texts/{}", i), texts_.emplace_back());
    }
  } catch (const CheckpointError& error) {
    throw DataError(error.what());
  }
}

TokenFile::~TokenFile() = default;
TokenFile::TokenFile(TokenFile&&) noexcept = default;

std::string TokenFile::origin(Split split) const {
  // The texts of all splits come first, then the files of their own, split by split.
  int64_t begin = 0;
  if (mapping_->parts[static_cast<int>(split)].own_texts > 0) {
    for (int before = 0; before < static_cast<int>(split); ++before) {
      begin += mapping_->parts[before].own_texts;
    }
  }
  const int64_t count = mapping_->parts[begin > 0 ? static_cast<int>(split) : 0].own_texts;
  std::string names;
  for (int64_t i = begin; i < begin + count; ++i) {
    names += (names.empty() ? "" : " + ") + texts_.at(static_cast<size_t>(i)).path;
  }
  return fmt::format("{} ({})", names, name_of(split));
}

TokenSpan TokenFile::tokens(Split split) const {
  return mapping_->parts[static_cast<int>(split)].tokens;
}
int64_t TokenFile::characters(Split split) const {
  return mapping_->parts[static_cast<int>(split)].characters;
}
int64_t TokenFile::words(Split split) const {
  return mapping_->parts[static_cast<int>(split)].words;
}
int64_t TokenFile::bytes(Split split) const {
  return mapping_->parts[static_cast<int>(split)].bytes;
}

int64_t TokenFile::unknown(Split split) const {
  return mapping_->parts[static_cast<int>(split)].unknown;
}

int64_t count_characters(std::string_view text) {
  int64_t count = 0;
  for (size_t offset = 0; offset < text.size(); ++count) {
    if (static_cast<unsigned char>(text[offset]) < 0x80) {
      ++offset;
      continue;
    }
    const CodePoint point = read_code_point(text, offset);
    offset += point.value < 0 ? 1 : static_cast<size_t>(point.bytes);
  }
  return count;
}

int64_t count_words(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  int64_t count = 0;
  bool inside = false;
  for (const char c : text) {
    const bool word = !is_space(c);
    count += word && !inside;
    inside = word;
  }
  return count;
}

}  // namespace tapemeasure
