// SPDX-License-Identifier: MIT
#include "core/file/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "core/error.h"
#include "core/file/atomic_file.h"

namespace tapemeasure {

namespace {

constexpr std::chrono::milliseconds kRetry{20};
/// lock_holder() has the lock for a moment itself: who meets it tries again.
constexpr std::chrono::milliseconds kGlance{100};

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

/// What a lock file says of its holder.
std::string text_of(int descriptor) {
  char holder[512] = "";
  const ssize_t size = read(descriptor, holder, sizeof holder - 1);
  return size > 0 ? holder : "pid unknown";
}

bool is_named(int descriptor, const std::string& path) {
  struct stat named = {}, held = {};
  return stat(path.c_str(), &named) == 0 && fstat(descriptor, &held) == 0 &&
         named.st_ino == held.st_ino;
}

}  // namespace

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  check<CheckpointError>(!error, "{}: cannot make this folder: {}", path, error.message());
}

std::string FolderLock::take() {
  descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  check<CheckpointError>(descriptor_ >= 0, "{}: cannot write here: {}", folder_of(path_),
                         std::strerror(errno));
  std::string holder;
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    holder = text_of(descriptor_);
  } else if (!is_named(descriptor_, path_)) {
    holder = "it has just left: try again";
  }
  if (!holder.empty()) close(descriptor_);
  return holder;
}

FolderLock::FolderLock(const std::string& folder, const std::string& worker,
                       std::chrono::seconds patience)
    : path_(folder + "/lock") {
  const auto end =
      std::chrono::steady_clock::now() + std::max<std::chrono::milliseconds>(patience, kGlance);
  std::string holder = take();
  while (!holder.empty() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kRetry);
    holder = take();
  }
  check<CheckpointError>(holder.empty(), "{}: another {} is at work here ({})", folder, worker,
                         holder);
  const std::string text = fmt::format("pid {} on {}", getpid(), host_name());
  const bool written = ftruncate(descriptor_, 0) == 0 &&
                       write(descriptor_, text.data(), text.size()) == ssize_t(text.size());
  check<CheckpointError>(written, "{}: cannot write the lock: {}", path_, std::strerror(errno));
}

FolderLock::~FolderLock() {
  // The name goes first, while the lock is still held.
  unlink(path_.c_str());
  close(descriptor_);
}

std::string lock_holder(const std::string& folder) {
  const int lock = open((folder + "/lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (lock < 0) return "";
  const bool held = flock(lock, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  const std::string holder = held ? text_of(lock) : "";
  close(lock);
  return holder;
}

}  // namespace tapemeasure
