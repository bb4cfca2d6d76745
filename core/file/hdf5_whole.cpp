// SPDX-License-Identifier: MIT
// The block that our files begin with, and the check of a whole file against it: damage is found
// before HDF5, which can loop or crash on it, sees a byte.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/file/hdf5_handle.h"

namespace tapemeasure {
namespace {

constexpr std::string_view kMagic = "tapemeasure ";

std::string hex(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string block_text(int version, uint64_t length, const std::string& digest) {
  std::string block = fmt::format("{}{} {} {}\n", kMagic, version, length, digest);
  block.resize(kUserBlockBytes, '\0');
  return block;
}

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

  void check() {
    struct stat status;
    if (::fstat(fd_, &status) != 0) fail("cannot read: {}", std::strerror(errno));
    if (S_ISDIR(status.st_mode)) fail("cannot read: a folder");
    if (!S_ISREG(status.st_mode)) fail("cannot read: not a file but a pipe or a device");
    const uint64_t size = static_cast<uint64_t>(status.st_size);
    std::string block(kUserBlockBytes, '\0');
    block.resize(read(std::as_writable_bytes(std::span(block))));
    const std::string_view start(block.data(), std::min(block.size(), kMagic.size()));
    if (start != kMagic.substr(0, start.size())) fail("not one of ours (no Tapemeasure header)");
    if (block.size() < kUserBlockBytes)
      fail("cut short: {} bytes of {} or more", size, kUserBlockBytes);

    const size_t line_end = block.find('\n');
    if (line_end == std::string::npos) fail("damaged: its header is not readable");
    const std::string_view header(block.data() + kMagic.size(), line_end - kMagic.size());
    int version = 0;
    uint64_t length = 0;
    const char* end = parse(header, version);
    if (version > kUserBlockVersion)
      fail("of a newer format ({}; this program knows {})", version, kUserBlockVersion);
    parse({end, static_cast<size_t>(header.end() - end)}, length);
    const std::string digest(header.substr(header.rfind(' ') + 1));
    if (block != block_text(version, length, digest)) fail("damaged: its header is not readable");
    if (size < kUserBlockBytes + length)
      fail("cut short: {} bytes of {}", size, kUserBlockBytes + length);
    if (size > kUserBlockBytes + length)
      fail("damaged: {} bytes, of which only {} were written", size, kUserBlockBytes + length);
    if (hash_rest() != digest) fail("damaged: the contents do not match their checksum");
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw CheckpointError(path_ + ": " + fmt::format(format, std::forward<Args>(args)...));
  }

  // A number after an optional space; the point behind it.
  template <class Number>
  static const char* parse(std::string_view text, Number& number) {
    if (text.starts_with(' ')) text.remove_prefix(1);
    return std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  }

  size_t read(std::span<std::byte> buffer) {
    size_t filled = 0;
    while (filled < buffer.size()) {
      const ssize_t got = ::read(fd_, buffer.data() + filled, buffer.size() - filled);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("cannot read: {}", std::strerror(errno));
      if (got == 0) break;
      filled += static_cast<size_t>(got);
    }
    return filled;
  }

  std::string hash_rest() {
    const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                         XXH3_freeState);
    XXH3_128bits_reset(state.get());
    std::vector<std::byte> buffer(1 << 20);
    while (const size_t got = read(buffer)) XXH3_128bits_update(state.get(), buffer.data(), got);
    return hex(XXH3_128bits_digest(state.get()));
  }

  const std::string& path_;
  int fd_;
};

}  // namespace

std::string user_block(std::span<const std::byte> rest) {
  return block_text(kUserBlockVersion, rest.size(), hex(XXH3_128bits(rest.data(), rest.size())));
}

void check_whole_file(const std::string& path) { WholeFile(path).check(); }

std::string checksum(std::span<const std::byte> bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

}  // namespace tapemeasure
