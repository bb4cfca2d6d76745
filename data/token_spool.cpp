// SPDX-License-Identifier: MIT
#include "data/token_spool.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "data/token_file.h"

namespace tapemeasure {

namespace {

template <class T>
std::vector<std::byte> narrowed(const std::vector<int32_t>& ids) {
  std::vector<std::byte> bytes(ids.size() * sizeof(T));
  T* out = reinterpret_cast<T*>(bytes.data());
  for (size_t i = 0; i < ids.size(); ++i) out[i] = static_cast<T>(ids[i]);
  return bytes;
}

bool in_word(char c) { return count_words(std::string_view(&c, 1)) == 1; }

}  // namespace

ElementType token_type(int64_t vocabulary) {
  if (vocabulary <= 1 << 8) return ElementType::kU8;
  return vocabulary <= 1 << 16 ? ElementType::kU16 : ElementType::kU32;
}

EncodedPiece encode_piece(const Tokenizer& tokenizer, std::string_view piece,
                          const std::string& origin) {
  std::vector<int32_t> ids;
  tokenizer.encode(piece, origin, ids);
  EncodedPiece result;
  const ElementType type = token_type(tokenizer.vocabulary());
  result.tokens = type == ElementType::kU8    ? narrowed<uint8_t>(ids)
                  : type == ElementType::kU16 ? narrowed<uint16_t>(ids)
                                              : narrowed<uint32_t>(ids);
  result.count = static_cast<int64_t>(ids.size());
  if (const auto unknown = tokenizer.unknown()) {
    result.unknown = std::count(ids.begin(), ids.end(), *unknown);
  }
  result.bytes = static_cast<int64_t>(piece.size());
  result.characters = count_characters(piece);
  result.words = count_words(piece);
  result.begins_in_word = !piece.empty() && in_word(piece.front());
  result.ends_in_word = !piece.empty() && in_word(piece.back());
  return result;
}

TokenSpool::TokenSpool(const std::string& target, ElementType type)
    : target_(target), type_(type), fd_(open_scratch(folder_of(target), target)) {}

TokenSpool::~TokenSpool() {
  if (fd_ >= 0) ::close(fd_);
}

TokenSpool::TokenSpool(TokenSpool&& other) noexcept
    : target_(std::move(other.target_)),
      type_(other.type_),
      fd_(std::exchange(other.fd_, -1)),
      total_(std::move(other.total_)),
      sum_(std::move(other.sum_)),
      block_(std::move(other.block_)),
      block_sums_(std::move(other.block_sums_)) {}

void TokenSpool::append(const EncodedPiece& piece) {
  const bool written = write_all(fd_, piece.tokens);
  check<CheckpointError>(written, "{}: cannot write: {}", target_, std::strerror(errno));
  sum_.add(piece.tokens);
  for (std::span<const std::byte> rest = piece.tokens; !rest.empty();) {
    const auto part = rest.first(std::min(rest.size(), kTokenBlock - block_.size()));
    block_.insert(block_.end(), part.begin(), part.end());
    if (block_.size() == kTokenBlock) sum_block();
    rest = rest.subspan(part.size());
  }
  total_.count += piece.count;
  total_.unknown += piece.unknown;
  total_.bytes += piece.bytes;
  total_.characters += piece.characters;
  total_.words += piece.words - (total_.ends_in_word && piece.begins_in_word);
  total_.ends_in_word = piece.ends_in_word;
}

void TokenSpool::sum_block() {
  block_sums_.push_back(static_cast<int64_t>(xxh3_of(block_)));
  block_.clear();
}

void TokenSpool::add_to(Hdf5Writer& file, const std::string& name) {
  if (!block_.empty()) sum_block();
  const auto sums = static_cast<int64_t>(block_sums_.size());
  file.array(name + "/block_sums", ElementType::kI64, std::span(&sums, 1), block_sums_.data());
  file.stream(name + "/tokens", type_, total_.count, sum_.hex(),
              [this](uint64_t offset, std::span<std::byte> bytes) {
                const ssize_t got = read_all(fd_, offset, bytes);
                check<CheckpointError>(got == static_cast<ssize_t>(bytes.size()),
                                       "{}: cannot read the tokens back: {}", target_,
                                       got < 0 ? std::strerror(errno) : "they are fewer");
              });
  file.integer(name + "/bytes", total_.bytes);
  file.integer(name + "/characters", total_.characters);
  file.integer(name + "/words", total_.words);
  file.integer(name + "/unknown", total_.unknown);
}

}  // namespace tapemeasure
