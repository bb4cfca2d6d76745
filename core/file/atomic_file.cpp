// SPDX-License-Identifier: MIT
#include "core/file/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/file/checksum.h"

namespace tapemeasure {
namespace {

constexpr const char* kSuffix = ".tmp";

/// Closes a file descriptor, unless `close` has, whose result counts (NFS reports lost writes
/// there).
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  bool opened() const { return fd_ >= 0; }
  bool close() {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0;
  }

 private:
  int fd_;
};

std::string temporary_path(const std::string& path) {
  const size_t slash = path.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  return fmt::format("{}.{}.{}{}", path.substr(0, name), path.substr(name), getpid(), kSuffix);
}

bool flush(int fd) {
  int result;
  do result = ::fsync(fd);
  while (result < 0 && errno == EINTR);
  return result == 0;
}

// Some file systems have folders that cannot be flushed, and say EINVAL; a rename is durable there
// as soon as it can be.
bool flush_folder(const std::string& folder) {
  const Descriptor handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return handle.opened() && (flush(handle.get()) || errno == EINVAL);
}

// The process id in ".NAME.PID.tmp", or 0.
pid_t owner_of(const std::string& name) {
  if (!name.starts_with('.') || !name.ends_with(kSuffix)) return 0;
  const size_t end = name.size() - std::strlen(kSuffix);
  const size_t dot = name.rfind('.', end - 1);
  if (end == 0 || dot == std::string::npos || dot == 0) return 0;
  pid_t pid = 0;
  const char* last = name.data() + end;
  const auto [stop, error] = std::from_chars(name.data() + dot + 1, last, pid);
  return stop == last && error == std::errc() && pid > 0 ? pid : 0;
}

/// What a path names that is no file, for messages; "" of a file, and where there is nothing.
const char* other_than_file(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "";
}

/// All that can be read, from where the file stands. The size is only a first guess: pipes have
/// none, and files grow.
std::string read_rest(int fd, off_t size_guess, const std::string& path) {
  std::string text(static_cast<size_t>(size_guess) + 1, '\0');
  size_t size = 0;
  while (true) {
    if (size == text.size()) text.resize(size + std::max<size_t>(size / 2, 1 << 16));
    const ssize_t got = ::read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    check<DataError>(got >= 0, "{}: cannot read: {}", path, std::strerror(errno));
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  text.resize(size);
  return text;
}

struct stat status_of(int fd, const std::string& path) {
  struct stat status;
  check<DataError>(fd >= 0 && ::fstat(fd, &status) == 0, "{}: cannot read: {}", path,
                   std::strerror(errno));
  return status;
}

bool is_running(pid_t pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

int lock(int fd, int operation) {
  int result;
  do result = ::flock(fd, operation);
  while (result < 0 && errno == EINTR);
  return result;
}

/// True if `path` names the open file.
bool is_at(int fd, const std::string& path) {
  struct stat file, there;
  return ::fstat(fd, &file) == 0 && ::stat(path.c_str(), &there) == 0 &&
         file.st_dev == there.st_dev && file.st_ino == there.st_ino;
}

/// Opens a neighbour file, empty and locked for as long as it is written. -1, with errno, if that
/// cannot be.
int open_neighbour(const std::string& path) {
  while (true) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return fd;
    // Whoever had the lock before may have renamed or removed the file. Where a file system has no
    // locks there is nobody to wait for.
    const bool lost = lock(fd, LOCK_EX) == 0 && !is_at(fd, path);
    if (!lost && ::ftruncate(fd, 0) == 0) return fd;
    const int error = errno;
    ::close(fd);
    errno = error;
    if (!lost) return -1;
  }
}

/// Removes a neighbour file that nobody writes. Its process id does not say so: in a container the
/// next program often has that of the one before. It decides where there are no locks.
bool remove_left(const std::string& path, pid_t owner) {
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const bool locked = file.opened() && lock(file.get(), LOCK_EX | LOCK_NB) == 0;
  if (locked && !is_at(file.get(), path)) return false;  // it has its name, and another is begun
  if (!locked && ((file.opened() && errno == EWOULDBLOCK) || is_running(owner))) return false;
  return ::unlink(path.c_str()) == 0;  // nobody can begin to write it before the lock is given back
}

}  // namespace

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  // Linux writes at most this much in one call.
  constexpr size_t kMostAtOnce = 1 << 30;
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), std::min(bytes.size(), kMostAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

ssize_t read_all(int fd, uint64_t offset, std::span<std::byte> bytes) {
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::pread(fd, bytes.data() + filled, bytes.size() - filled,
                                static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  return static_cast<ssize_t>(filled);
}

int open_scratch(const std::string& folder, const std::string& what) {
  int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  // Not every file system can do that.
  if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
    std::string name = folder + "/.scratch.XXXXXX";
    fd = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd >= 0) ::unlink(name.c_str());
  }
  check<CheckpointError>(fd >= 0, "{}: cannot write: {}", what, std::strerror(errno));
  return fd;
}

AtomicWriter::AtomicWriter(const std::string& path, size_t expected)
    : path_(path), temporary_(temporary_path(path)), expected_(expected) {
  struct stat there;
  // A folder is refused by rename.
  const bool other = ::stat(path.c_str(), &there) == 0 && !S_ISDIR(there.st_mode);
  const std::string what = other ? other_than_file(there.st_mode) : "";
  check<CheckpointError>(what.empty(), "{}: cannot write: {} is there, not a file: name another",
                         path, what);
  fd_ = open_neighbour(temporary_);
  if (fd_ < 0) fail(errno);
}

AtomicWriter::~AtomicWriter() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicWriter::append(std::span<const std::byte> bytes) {
  if (!write_all(fd_, bytes)) fail(errno);
}

void AtomicWriter::overwrite(size_t offset, std::span<const std::byte> bytes) {
  if (::lseek(fd_, static_cast<off_t>(offset), SEEK_SET) < 0) fail(errno);
  append(bytes);
  if (::lseek(fd_, 0, SEEK_END) < 0) fail(errno);
}

void AtomicWriter::commit() {
  const Descriptor lock(::dup(fd_));  // holds it until the file has its name
  if (!flush(fd_) || ::close(std::exchange(fd_, -1)) != 0) fail(errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  temporary_.clear();
  if (!flush_folder(folder_of(path_))) fail(errno);
}

void AtomicWriter::fail(int error) const {
  std::string reason = std::strerror(error);
  struct statvfs space;
  if ((error == ENOSPC || error == EDQUOT) && statvfs(folder_of(path_).c_str(), &space) == 0)
    reason += fmt::format(": {} bytes needed, {} free", expected_,
                          static_cast<uint64_t>(space.f_bavail) * space.f_frsize);
  throw CheckpointError(fmt::format("{}: cannot write: {}", path_, reason));
}

void write_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  size_t needed = 0;
  for (const std::span<const std::byte>& part : parts) needed += part.size();
  AtomicWriter file(path, needed);
  for (const std::span<const std::byte>& part : parts) file.append(part);
  file.commit();
}

void write_atomically(const std::string& path, const std::string& text) {
  const std::span<const std::byte> part = std::as_bytes(std::span(text));
  write_atomically(path, std::span(&part, 1));
}

std::vector<std::string> remove_leftovers(const std::string& folder) {
  std::vector<std::string> removed;
  DIR* handle = ::opendir(folder.c_str());
  if (!handle) return removed;
  while (const dirent* entry = ::readdir(handle)) {
    const std::string name = entry->d_name;
    const pid_t owner = owner_of(name);
    if (owner != 0 && remove_left(folder + "/" + name, owner)) removed.push_back(name);
  }
  ::closedir(handle);
  std::sort(removed.begin(), removed.end());
  return removed;
}

std::string read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const struct stat status = status_of(file.get(), path);
  check<DataError>(!S_ISDIR(status.st_mode), "{}: cannot read: a folder", path);
  // /dev/zero has no end.
  const bool device = S_ISBLK(status.st_mode) || (S_ISCHR(status.st_mode) && !isatty(file.get()));
  check<DataError>(!device, "{}: cannot read: a device", path);
  return read_rest(file.get(), status.st_size, path);
}

std::string read_kept_file(const std::string& path) {
  // A pipe opens at once this way; files do not heed it.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const struct stat status = status_of(file.get(), path);
  check<DataError>(S_ISREG(status.st_mode), "{}: cannot read: {}, not a file: remove it", path,
                   other_than_file(status.st_mode));
  return read_rest(file.get(), status.st_size, path);
}

std::string sha256(std::span<const std::byte> bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.hex();
}

}  // namespace tapemeasure
