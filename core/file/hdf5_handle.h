// SPDX-License-Identifier: MIT
// What the HDF5 reader and writer share: owned handles, element types, checksums, and the block
// that our files begin with. Private to core/file, as it includes HDF5.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/file/hdf5_file.h"

namespace tapemeasure {

/// An HDF5 identifier with the function that closes it.
class Handle {
 public:
  Handle() = default;
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    reset();
    id_ = std::exchange(other.id_, -1);
    close_ = other.close_;
    return *this;
  }

  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }
  void reset() {
    if (id_ >= 0) close_(id_);
    id_ = -1;
  }

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

/// Keeps HDF5 from printing its own error stack on the terminal, and from acting at exit. Comes
/// before anything else that is asked of HDF5.
void silence_hdf5();

/// The type in memory. Our files are little-endian, as is every machine we build for.
hid_t native_type(ElementType type);

/// The attributes of a dataset of ours.
inline constexpr const char* kChecksumAttribute = "xxh3";  // 16 hexadecimal digits
inline constexpr const char* kTypeAttribute = "type";      // "bf16", where the words are numbers

/// XXH3-64 in hexadecimal.
std::string checksum(std::span<const std::byte> bytes);

/// The block before the HDF5 file proper: "tapemeasure 1 LENGTH XXH3-128\n", then zeros. Where
/// arrays were streamed it is version 2 and has a second line, "layout XXH3-128 OFFSET LENGTH ...":
/// where in the file these arrays lie, and the sum of all else, so that the structure of a large
/// file can be trusted without reading all of it.
inline constexpr size_t kUserBlockBytes = 512;
inline constexpr int kUserBlockVersion = 2;

struct ByteRange {
  uint64_t offset = 0, length = 0;
};

struct UserBlock {
  uint64_t length = 0;              ///< of what follows the block
  std::string digest;               ///< XXH3-128 of that
  std::vector<ByteRange> streamed;  ///< in order; none: version 1
  std::string layout_digest;        ///< XXH3-128 of that without `streamed`, and the first line

  /// The line that all blocks have.
  std::string first_line() const;
  /// The block's bytes. Throws Error when they are too many.
  std::string text() const;
};

/// Throws CheckpointError unless the whole file is as its block says; with `layout_only` the
/// streamed arrays are not read.
void check_file(const std::string& path, bool layout_only);
/// Calls `use(bytes)` for all of a range of a file, piece by piece. False if the file cannot be
/// read or ends before.
bool read_range(int fd, ByteRange range,
                const std::function<void(std::span<const std::byte>)>& use);

}  // namespace tapemeasure
