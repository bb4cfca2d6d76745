// SPDX-License-Identifier: MIT
#include "data/text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/checksum.h"

namespace tapemeasure {

namespace {

constexpr size_t kPiece = 1 << 20;

template <class Bytes>
auto bytes_of(const Bytes& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

struct Text::File {
  std::string path;
  int fd = -1;
  uint64_t begin = 0, size = 0;
  struct stat status {};

  explicit File(const std::string& name) : path(name) {
    check<DataError>(
        !path.ends_with(".h5"),
        "{}: a prepared text is used alone and as it is: give it as the only data.text", path);
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || ::fstat(fd, &status) != 0) fail(std::strerror(errno));
    if (S_ISDIR(status.st_mode)) fail("a folder");
    // /dev/zero has no end.
    if (S_ISBLK(status.st_mode) || (S_ISCHR(status.st_mode) && !isatty(fd))) fail("a device");
    if (!S_ISREG(status.st_mode)) keep_pipe();
    size = static_cast<uint64_t>(status.st_size);
  }
  ~File() {
    if (fd >= 0) ::close(fd);
  }
  File(const File&) = delete;

  [[noreturn]] void fail(const std::string& reason) const {
    throw DataError(fmt::format("{}: cannot read: {}", path, reason));
  }

  /// A text is read more than once, which a pipe cannot be.
  void keep_pipe() {
    const int kept = open_scratch(std::filesystem::temp_directory_path(), path);
    std::vector<std::byte> buffer(kPiece);
    while (true) {
      const ssize_t got = ::read(fd, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got == 0) break;
      if (got < 0 || !write_all(kept, std::span(buffer).first(static_cast<size_t>(got)))) {
        const std::string reason = std::strerror(errno);
        ::close(kept);
        fail(reason);
      }
    }
    ::close(fd);
    fd = kept;
    if (::fstat(fd, &status) != 0) fail(std::strerror(errno));
  }

  bool changed() const {
    struct stat now {};
    return ::fstat(fd, &now) != 0 || now.st_size != status.st_size ||
           now.st_mtim.tv_sec != status.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != status.st_mtim.tv_nsec;
  }
};

Text::Text(const std::vector<std::string>& paths) {
  check<DataError>(!paths.empty(), "no text given");
  for (const std::string& path : paths) {
    files_.push_back(std::make_unique<File>(path));
    files_.back()->begin = size_;
    size_ += files_.back()->size;
  }
  check<DataError>(size_ > 0, "{}: the text is empty", origin());
}

Text::~Text() = default;
Text::Text(Text&&) noexcept = default;

std::string Text::origin() const {
  std::string names;
  for (const auto& file : files_) names += (names.empty() ? "" : " + ") + file->path;
  return names;
}

void Text::read(uint64_t offset, std::span<char> bytes) const {
  for (const auto& file : files_) {
    if (bytes.empty()) return;
    if (offset >= file->begin + file->size) continue;
    const uint64_t inside = offset - file->begin;
    const auto piece = bytes.first(std::min<uint64_t>(bytes.size(), file->size - inside));
    const ssize_t got = read_all(file->fd, inside, std::as_writable_bytes(piece));
    if (got < 0) file->fail(std::strerror(errno));
    check<DataError>(got == static_cast<ssize_t>(piece.size()),
                     "{}: changed while it was being read", file->path);
    bytes = bytes.subspan(piece.size());
    offset += piece.size();
  }
}

std::string Text::place(uint64_t offset) const {
  size_t index = 0;
  while (index + 1 < files_.size() && offset >= files_[index + 1]->begin) ++index;
  const File& file = *files_[index];
  int64_t lines = 1;
  std::string piece;
  for (uint64_t at = file.begin; at < offset; at += piece.size()) {
    piece.resize(std::min<uint64_t>(kPiece, offset - at));
    read(at, piece);
    lines += std::count(piece.begin(), piece.end(), '\n');
  }
  return fmt::format("{}: byte {} (line {})", file.path, offset - file.begin, lines);
}

void Text::check_unchanged() const {
  for (const auto& file : files_) {
    check<DataError>(!file->changed(), "{}: changed while it was being read", file->path);
  }
}

namespace {

/// What is told of a text, found piece by piece.
class Oddities {
 public:
  void see(std::string_view piece) {
    // Behind the last two bytes of the piece before, so that no mark is missed at a border.
    window_.append(piece);
    const uint64_t begin = seen_ + piece.size() - window_.size();
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    for (size_t at = window_.find(kMark); at != std::string::npos && marks_.size() < kMost;
         at = window_.find(kMark, at + kMark.size())) {
      marks_.push_back(begin + at);
    }
    window_.erase(0, window_.size() - std::min<size_t>(window_.size(), kMark.size() - 1));
    returns_ += std::count(piece.begin(), piece.end(), '\r');
    if (returns_ > 0) {
      for (const char c : piece) {
        pairs_ += last_ == '\r' && c == '\n';
        last_ = c;
      }
    }
    const auto zeros = std::count(piece.begin(), piece.end(), '\0');
    if (zeros > 0 && zeros_ == 0) first_zero_ = seen_ + piece.find('\0');
    zeros_ += zeros;
    seen_ += piece.size();
  }

  void tell(const Text& text, LineEnds line_ends, std::vector<std::string>& notices) const {
    for (const uint64_t mark : marks_) {
      notices.push_back(fmt::format("{}: a byte-order mark, kept as text", text.place(mark)));
    }
    if (returns_ > 0) {
      notices.push_back(fmt::format("{}: {} CRLF and {} lone CR line ends are {}", text.origin(),
                                    pairs_, returns_ - pairs_,
                                    line_ends == LineEnds::kLf ? "read as LF" : "kept as text"));
    }
    if (zeros_ > 0) {
      notices.push_back(fmt::format("{}: the first of {} NUL bytes, kept as text",
                                    text.place(first_zero_), zeros_));
    }
  }

 private:
  static constexpr size_t kMost = 3;
  std::string window_;
  std::vector<uint64_t> marks_;
  int64_t returns_ = 0, pairs_ = 0, zeros_ = 0;
  uint64_t seen_ = 0, first_zero_ = 0;
  char last_ = '\0';
};

}  // namespace

std::vector<TextFingerprint> Text::survey(LineEnds line_ends,
                                          std::vector<std::string>& notices) const {
  std::vector<TextFingerprint> fingerprints;
  Oddities oddities;
  std::string piece;
  for (const auto& file : files_) {
    Sha256 sum;
    for (uint64_t at = 0; at < file->size; at += piece.size()) {
      piece.resize(std::min<uint64_t>(kPiece, file->size - at));
      read(file->begin + at, piece);
      sum.add(bytes_of(piece));
      oddities.see(piece);
    }
    fingerprints.push_back({file->path, static_cast<int64_t>(file->size), sum.hex()});
  }
  oddities.tell(*this, line_ends, notices);
  return fingerprints;
}

bool ChunkReader::next(std::string& piece, uint64_t& offset) {
  constexpr size_t kChunk = 2 << 20;
  offset = read_ - carry_.size();
  piece = std::move(carry_);
  carry_.clear();
  for (size_t wanted = kChunk;; wanted *= 2) {
    const size_t had = piece.size();
    const auto more = std::min<uint64_t>(wanted - std::min(wanted, had), range_.end - read_);
    piece.resize(had + more);
    range_.text->read(read_, std::span(piece).subspan(had));
    read_ += more;
    if (read_ == range_.end) return !piece.empty();
    const size_t whole = cut_(piece);
    if (whole == 0) continue;
    carry_ = piece.substr(whole);
    piece.resize(whole);
    return true;
  }
}

}  // namespace tapemeasure
