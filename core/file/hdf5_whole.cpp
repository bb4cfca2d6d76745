// SPDX-License-Identifier: MIT
// The block that our files begin with, and the check of a whole file against it: damage is found
// before HDF5, which can loop or crash on it, sees a byte.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/checksum.h"
#include "core/file/hdf5_handle.h"

namespace tapemeasure {
namespace {

constexpr std::string_view kMagic = "tapemeasure ", kLayout = "layout ";

class WholeFile {
 public:
  // Without O_NONBLOCK a pipe would be waited for.
  explicit WholeFile(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (fd_ < 0) fail("cannot read: {}", std::strerror(errno));
  }
  ~WholeFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  void check(bool layout_only) {
    struct stat status;
    if (::fstat(fd_, &status) != 0) fail("cannot read: {}", std::strerror(errno));
    if (S_ISDIR(status.st_mode)) fail("cannot read: a folder");
    if (!S_ISREG(status.st_mode)) fail("cannot read: not a file but a pipe or a device");
    const uint64_t size = static_cast<uint64_t>(status.st_size);
    const UserBlock block = read_block(size);
    const uint64_t whole = kUserBlockBytes + block.length;
    if (size < whole) fail("cut short: {} bytes of {}", size, whole);
    if (size > whole) fail("damaged: {} bytes, of which only {} were written", size, whole);
    bool right = true;
    if (!block.streamed.empty()) {
      right = hash_of(layout_ranges(block), block.first_line()) == block.layout_digest;
    }
    if (!layout_only || block.streamed.empty()) {
      right = right && hash_of({{kUserBlockBytes, block.length}}, "") == block.digest;
    }
    if (!right) fail("damaged: the contents do not match their checksum");
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw CheckpointError(path_ + ": " + fmt::format(format, std::forward<Args>(args)...));
  }

  /// Takes a space and a number off the front; what is not one stays for the comparison at the end.
  template <class Number>
  static void take(std::string_view& text, Number& number) {
    if (text.starts_with(' ')) text.remove_prefix(1);
    const char* end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
  static std::string take_word(std::string_view& text) {
    if (text.starts_with(' ')) text.remove_prefix(1);
    const std::string word(text.substr(0, text.find_first_of(std::string_view(" \n\0", 3))));
    text.remove_prefix(word.size());
    return word;
  }

  UserBlock read_block(uint64_t size) const {
    std::string bytes(kUserBlockBytes, '\0');
    const ssize_t got = read_all(fd_, 0, std::as_writable_bytes(std::span(bytes)));
    if (got < 0) fail("cannot read: {}", std::strerror(errno));
    bytes.resize(static_cast<size_t>(got));
    const std::string_view start(bytes.data(), std::min(bytes.size(), kMagic.size()));
    if (start != kMagic.substr(0, start.size())) fail("not one of ours (no Tapemeasure header)");
    if (bytes.size() < kUserBlockBytes)
      fail("cut short: {} bytes of {} or more", size, kUserBlockBytes);
    std::string_view rest = std::string_view(bytes).substr(kMagic.size());
    int version = 0;
    UserBlock block;
    take(rest, version);
    if (version > kUserBlockVersion)
      fail("of a newer format ({}; this program knows {})", version, kUserBlockVersion);
    take(rest, block.length);
    block.digest = take_word(rest);
    if (rest.starts_with('\n')) rest.remove_prefix(1);
    if (rest.starts_with(kLayout)) {
      rest.remove_prefix(kLayout.size() - 1);
      block.layout_digest = take_word(rest);
      while (rest.starts_with(' ')) {
        ByteRange& range = block.streamed.emplace_back();
        take(rest, range.offset);
        take(rest, range.length);
      }
    }
    // What was read must be all that there is.
    if (bytes != block.text()) fail("damaged: its header is not readable");
    return block;
  }

  /// What lies around the streamed arrays.
  std::vector<ByteRange> layout_ranges(const UserBlock& block) const {
    std::vector<ByteRange> ranges;
    uint64_t at = kUserBlockBytes;
    const uint64_t end = kUserBlockBytes + block.length;
    for (const ByteRange& range : block.streamed) {
      if (range.offset < at || range.offset > end || range.length > end - range.offset)
        fail("damaged: its header is not readable");
      ranges.push_back({at, range.offset - at});
      at = range.offset + range.length;
    }
    ranges.push_back({at, end - at});
    return ranges;
  }

  /// Of parts of the file, and a text behind them.
  std::string hash_of(const std::vector<ByteRange>& ranges, const std::string& text) const {
    Xxh3 sum(Xxh3::Bits::k128);
    for (const ByteRange& range : ranges) {
      if (!read_range(fd_, range, [&](auto bytes) { sum.add(bytes); }))
        fail("cannot read: {}", std::strerror(errno));
    }
    sum.add(std::as_bytes(std::span(text)));
    return sum.hex();
  }

  const std::string& path_;
  int fd_;
};

}  // namespace

std::string UserBlock::first_line() const {
  return fmt::format("{}{} {} {}\n", kMagic, streamed.empty() ? 1 : 2, length, digest);
}

std::string UserBlock::text() const {
  std::string text = first_line();
  if (!streamed.empty()) {
    text += fmt::format("{}{}", kLayout, layout_digest);
    for (const ByteRange& range : streamed) {
      text += fmt::format(" {} {}", range.offset, range.length);
    }
    text += '\n';
  }
  check<Error>(text.size() <= kUserBlockBytes, "too many streamed arrays for one file");
  text.resize(kUserBlockBytes, '\0');
  return text;
}

void check_file(const std::string& path, bool layout_only) { WholeFile(path).check(layout_only); }

bool read_range(int fd, ByteRange range,
                const std::function<void(std::span<const std::byte>)>& use) {
  std::vector<std::byte> buffer(std::min<uint64_t>(range.length, 1 << 20));
  for (uint64_t done = 0; done < range.length;) {
    const auto piece = std::span(buffer).first(std::min(buffer.size(), range.length - done));
    const ssize_t got = read_all(fd, range.offset + done, piece);
    if (got != static_cast<ssize_t>(piece.size())) return false;
    use(piece);
    done += piece.size();
  }
  return true;
}

std::string checksum(std::span<const std::byte> bytes) {
  return fmt::format("{:016x}", xxh3_of(bytes));
}

}  // namespace tapemeasure
