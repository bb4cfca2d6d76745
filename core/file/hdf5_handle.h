// SPDX-License-Identifier: MIT
// What the HDF5 reader and writer share: owned handles, element types, checksums, and the block
// that our files begin with. Private to core/file, as it includes HDF5.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

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

/// The block before the HDF5 file proper: "tapemeasure 1 LENGTH XXH3-128\n", then zeros.
inline constexpr size_t kUserBlockBytes = 512;
inline constexpr int kUserBlockVersion = 1;
std::string user_block(std::span<const std::byte> rest);
/// Throws CheckpointError unless the whole file is as user_block says.
void check_whole_file(const std::string& path);

}  // namespace tapemeasure
