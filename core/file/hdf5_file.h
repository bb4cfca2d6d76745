// SPDX-License-Identifier: MIT
// HDF5 files of ours: named arrays and texts, contiguous and uncompressed, readable with h5py and
// h5dump. A file is built in memory and written by write_atomically, so HDF5 itself never writes to
// disk; it begins with a 512-byte user block that holds the length and the XXH3-128 of all that
// follows, checked before HDF5 looks at a byte. Each dataset carries an attribute "xxh3" as well.
// Arrays larger than memory are streamed: HDF5 lays out a file without their bytes, which are
// filled in while it is written; the block then also has a sum of all but these arrays. No times
// are stored: equal contents are equal bytes. Only core/file/hdf5_*.cpp include HDF5, which is not
// made for several threads: use these classes from one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace tapemeasure {

enum class ElementType {
  kU8,
  kU16,
  kU32,
  kI32,
  kI64,
  kF32,
  kF64,
  kBF16 /* stored as 16-bit words */
};
size_t size_of(ElementType type);
/// "u8", "u16", "u32", "i32", "i64", "f32", "f64", "bf16".
const char* name_of(ElementType type);
/// Of the HDF5 library in use: "1.10.8".
std::string hdf5_version();
ElementType element_type(DType dtype);

struct ArrayInfo {
  std::string name;  ///< path below the root, "parameters/embedding.weight"
  ElementType type;
  std::vector<int64_t> shape;
  size_t bytes = 0;
  bool is_text = false;

  /// "[2, 3]".
  std::string shape_text() const;
};

/// Gives the bytes of a streamed array from an offset on, in order.
using ReadStreamed = std::function<void(uint64_t offset, std::span<std::byte> bytes)>;

/// Builds a file in memory.
class Hdf5Writer {
 public:
  /// `format` is kept as the root attribute "format", e.g. "tapemeasure-checkpoint 1". Only with
  /// `streams` can stream() be used.
  explicit Hdf5Writer(const std::string& format, bool streams = false);
  ~Hdf5Writer();
  /// Groups on the way are made as needed. Contents are copied.
  void array(const std::string& name, ElementType type, std::span<const int64_t> shape,
             const void* data);
  /// An array of `count` numbers that `read` gives when the file is written. `xxh3`: the XXH3-64 of
  /// its bytes; write() throws CheckpointError when `read` gives others. At most a dozen per file.
  void stream(const std::string& name, ElementType type, int64_t count, const std::string& xxh3,
              ReadStreamed read);
  void tensor(const std::string& name, const Tensor& value);
  void integer(const std::string& name, int64_t value);
  void real(const std::string& name, double value);
  /// UTF-8, or any bytes.
  void text(const std::string& name, const std::string& value);
  /// Writes the file with write_atomically: after this returns it is complete on disk under `path`.
  /// Throws CheckpointError, leaving whatever was there. May be called again, with more added.
  void write(const std::string& path);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What is checked when a file is opened.
enum class Hdf5Check {
  kNothing,  ///< any HDF5 file
  kLayout,   ///< all but streamed arrays, whose bytes the user of a mapping checks
  kWhole
};

/// Reads a file of ours, or (unchecked) any HDF5 file.
class Hdf5Reader {
 public:
  /// Throws CheckpointError naming the file and what is wrong: missing, a folder, no permission,
  /// not HDF5, cut short, damaged, of a newer format. With `checked` the user block must match.
  explicit Hdf5Reader(const std::string& path, bool checked = true);
  Hdf5Reader(const std::string& path, Hdf5Check check);
  ~Hdf5Reader();
  Hdf5Reader(Hdf5Reader&&) noexcept;

  const std::string& path() const;
  /// The root attribute "format"; "" if there is none.
  std::string format() const;
  /// Text attributes of the root (golden fixtures: "config", "kind", ...); "" if there is none.
  std::string attribute(const std::string& name) const;
  /// A number attribute of the root. Throws CheckpointError if there is none.
  double number_attribute(const std::string& name) const;
  bool has(const std::string& name) const;
  ArrayInfo info(const std::string& name) const;
  /// All arrays and texts below `group` ("" for all), in alphabetical order of their paths.
  std::vector<ArrayInfo> list(const std::string& group = "") const;
  /// Reads into memory of the caller, converting numbers to `type`; checks the dataset's checksum.
  /// Throws CheckpointError on reals that should be integers, and integers that do not fit.
  void read(const std::string& name, ElementType type, void* data) const;
  std::vector<double> reals(const std::string& name) const;
  std::vector<int64_t> integers(const std::string& name) const;
  int64_t integer(const std::string& name) const;
  double real(const std::string& name) const;
  std::string text(const std::string& name) const;
  /// Where a dataset's bytes lie in the file, for memory mapping.
  uint64_t offset(const std::string& name) const;
  /// Reads every dataset, large ones piece by piece, and checks its checksum. Throws
  /// CheckpointError naming the dataset.
  void verify() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tapemeasure
