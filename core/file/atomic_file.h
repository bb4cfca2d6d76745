// SPDX-License-Identifier: MIT
// Writing a file so that it is either wholly there or not at all: a neighbour file is written,
// flushed to disk, renamed over the target, and the folder is flushed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tapemeasure {

/// Writes `parts` one after the other as the file `path`. What is there already must be a file: a
/// folder, a pipe or a device is not replaced. On any failure the neighbour file
/// (".NAME.PID.tmp") is removed, `path` is untouched, and CheckpointError names the path, the
/// reason and, when the disk is full, needed and free bytes.
void write_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts);
void write_atomically(const std::string& path, const std::string& text);

/// A file in the making, for contents that do not lie in memory. Errors are those of
/// write_atomically, and so is what they leave.
class AtomicWriter {
 public:
  /// Opens the neighbour file of `path`, and waits while another process of the same id (in another
  /// container) writes it. `expected` bytes are what a full disk's message speaks of.
  AtomicWriter(const std::string& path, size_t expected);
  /// Removes the neighbour file, unless commit() has given it its name.
  ~AtomicWriter();
  AtomicWriter(const AtomicWriter&) = delete;
  AtomicWriter& operator=(const AtomicWriter&) = delete;

  void append(std::span<const std::byte> bytes);
  /// Over what was written before. Later appends go on behind the end.
  void overwrite(size_t offset, std::span<const std::byte> bytes);
  /// After this returns the file is complete on disk under its name.
  void commit();

 private:
  [[noreturn]] void fail(int error) const;
  std::string path_, temporary_;
  size_t expected_;
  int fd_ = -1;
};

/// Removes neighbour files in `folder` that a process which no longer runs has left: those that
/// nobody has locked. Returns their names.
std::vector<std::string> remove_leftovers(const std::string& folder);

/// A file without a name in `folder`, for what is too large for memory; gone when its descriptor is
/// closed. Throws CheckpointError that names `what` it is for.
int open_scratch(const std::string& folder, const std::string& what);
/// The folder of a path: "." of a bare name.
std::string folder_of(const std::string& path);
/// Writes all of `bytes` where the descriptor stands. False, with errno, if that cannot be.
bool write_all(int fd, std::span<const std::byte> bytes);
/// Reads from `offset` until `bytes` is full or the file ends: how many were read. -1, with errno,
/// if that cannot be.
ssize_t read_all(int fd, uint64_t offset, std::span<std::byte> bytes);

/// The whole file. Throws DataError naming the path: missing, a folder, no permission.
std::string read_file(const std::string& path);
/// The same of a file in a directory of ours, where a pipe or a device can only be a mistake: they
/// are refused at once, and nobody waits for what may never come.
std::string read_kept_file(const std::string& path);

/// SHA-256 of a text, 64 hexadecimal digits.
std::string sha256(std::span<const std::byte> bytes);

}  // namespace tapemeasure
