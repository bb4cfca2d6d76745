// SPDX-License-Identifier: MIT
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/checksum.h"
#include "core/file/hdf5_handle.h"
#include "core/utf8.h"

namespace tapemeasure {
namespace {

// Memory grows in steps of this size, each cleared: large ones would make small files slow. Large
// blocks grow by moving pages, not bytes.
constexpr size_t kGrowth = 1 << 20;

void must(bool ok, const std::string& what) { check<Error>(ok, "HDF5: cannot {}", what); }

// Texts are UTF-8 for h5py unless they are not: then plain bytes.
Handle text_type(const std::string& text) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  must(H5Tset_size(type.get(), std::max<size_t>(1, text.size())) >= 0 &&
           H5Tset_strpad(type.get(), H5T_STR_NULLPAD) >= 0 &&
           H5Tset_cset(type.get(), is_utf8(text) ? H5T_CSET_UTF8 : H5T_CSET_ASCII) >= 0,
       "make a text type");
  return type;
}

// HDF5 has no text without characters; no elements at all stand for it.
Handle text_space(const std::string& text) {
  return Handle(H5Screate(text.empty() ? H5S_NULL : H5S_SCALAR), H5Sclose);
}

void text_attribute(hid_t object, const char* name, const std::string& value) {
  const Handle type = text_type(value), space = text_space(value);
  const Handle attribute(
      H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  must(attribute.valid() && H5Awrite(attribute.get(), type.get(), value.data()) >= 0,
       fmt::format("write attribute {}", name));
}

}  // namespace

void silence_hdf5() {
  // At exit HDF5 would complete files once more, and crashes on one that memory did not suffice
  // for. We leave it nothing to do then: what is written is written by write().
  H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

hid_t native_type(ElementType type) {
  switch (type) {
    case ElementType::kU8:
      return H5T_NATIVE_UINT8;
    case ElementType::kU16:
    case ElementType::kBF16:
      return H5T_NATIVE_UINT16;
    case ElementType::kU32:
      return H5T_NATIVE_UINT32;
    case ElementType::kI32:
      return H5T_NATIVE_INT32;
    case ElementType::kI64:
      return H5T_NATIVE_INT64;
    case ElementType::kF32:
      return H5T_NATIVE_FLOAT;
    case ElementType::kF64:
      return H5T_NATIVE_DOUBLE;
  }
  throw Error("an element type that does not exist");
}

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

size_t size_of(ElementType type) {
  switch (type) {
    case ElementType::kU8:
      return 1;
    case ElementType::kU16:
    case ElementType::kBF16:
      return 2;
    case ElementType::kU32:
    case ElementType::kI32:
    case ElementType::kF32:
      return 4;
    case ElementType::kI64:
    case ElementType::kF64:
      return 8;
  }
  throw Error("an element type that does not exist");
}

const char* name_of(ElementType type) {
  constexpr const char* kNames[] = {"u8", "u16", "u32", "i32", "i64", "f32", "f64", "bf16"};
  return kNames[static_cast<int>(type)];
}

std::string ArrayInfo::shape_text() const { return fmt::format("[{}]", fmt::join(shape, ", ")); }

ElementType element_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return ElementType::kF32;
    case DType::kF64:
      return ElementType::kF64;
    case DType::kBF16:
      return ElementType::kBF16;
    case DType::kI32:
      return ElementType::kI32;
  }
  throw Error("a dtype that does not exist");
}

struct Hdf5Writer::Impl {
  Handle file, group_properties, dataset_properties;

  struct Streamed {
    std::string name, xxh3;
    ByteRange range;
    ReadStreamed read;
  };
  bool streams;
  std::vector<Streamed> streamed;
  // With streams HDF5 writes into a file that is in memory alone, where what was never written
  // takes none; its own driver for memory would allocate the arrays.
  int sparse = -1;

  ~Impl() {
    file.reset();
    if (sparse >= 0) ::close(sparse);
  }

  explicit Impl(bool streams) : streams(streams) {
    silence_hdf5();
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    // Version 1.8 of the format is the first whose groups hold thousands of long names well, and
    // the last that marks no file as open for writing.
    std::string name = "memory";
    if (streams) {
      sparse = ::memfd_create("tapemeasure", MFD_CLOEXEC);
      must(sparse >= 0, "make a file in memory");
      // Of HDF5's drivers this one does not ask where the name leads.
      name = fmt::format("/proc/self/fd/{}", sparse);
    }
    must((streams ? H5Pset_fapl_stdio(access.get())
                  : H5Pset_fapl_core(access.get(), kGrowth, false)) >= 0 &&
             H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V110) >= 0 &&
             H5Pset_userblock(creation.get(), kUserBlockBytes) >= 0 &&
             H5Pset_obj_track_times(creation.get(), false) >= 0,
         "set up a file in memory");
    file = Handle(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose);
    group_properties = Handle(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
    dataset_properties = Handle(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const hid_t dataset = dataset_properties.get();
    must(file.valid() && H5Pset_obj_track_times(group_properties.get(), false) >= 0 &&
             H5Pset_obj_track_times(dataset, false) >= 0 &&
             H5Pset_layout(dataset, H5D_CONTIGUOUS) >= 0 &&
             H5Pset_alloc_time(dataset, H5D_ALLOC_TIME_EARLY) >= 0 &&
             H5Pset_fill_time(dataset, H5D_FILL_TIME_NEVER) >= 0,
         "create a file in memory");
  }

  // By hand, because groups that HDF5 adds on the way have times.
  void make_groups(const std::string& name) {
    for (size_t slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
      const std::string group = name.substr(0, slash);
      if (H5Lexists(file.get(), group.c_str(), H5P_DEFAULT) > 0) continue;
      const Handle made(
          H5Gcreate2(file.get(), group.c_str(), H5P_DEFAULT, group_properties.get(), H5P_DEFAULT),
          H5Gclose);
      must(made.valid(), "create group " + group);
    }
  }

  Handle empty_dataset(const std::string& name, hid_t type, hid_t space, const std::string& xxh3) {
    make_groups(name);
    Handle dataset(H5Dcreate2(file.get(), name.c_str(), type, space, H5P_DEFAULT,
                              dataset_properties.get(), H5P_DEFAULT),
                   H5Dclose);
    must(dataset.valid(), "create dataset " + name);
    text_attribute(dataset.get(), kChecksumAttribute, xxh3);
    return dataset;
  }

  Handle dataset(const std::string& name, hid_t type, hid_t space,
                 std::span<const std::byte> bytes) {
    Handle dataset = empty_dataset(name, type, space, checksum(bytes));
    if (!bytes.empty())
      must(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) >= 0,
           "write dataset " + name);
    return dataset;
  }

  void write_memory(const std::string& path) const;
  void write_streaming(const std::string& path) const;
};

Hdf5Writer::Hdf5Writer(const std::string& format, bool streams)
    : impl_(std::make_unique<Impl>(streams)) {
  text_attribute(impl_->file.get(), "format", format);
}

Hdf5Writer::~Hdf5Writer() = default;

void Hdf5Writer::array(const std::string& name, ElementType type, std::span<const int64_t> shape,
                       const void* data) {
  std::vector<hsize_t> sizes(shape.begin(), shape.end());
  size_t bytes = size_of(type);
  for (hsize_t size : sizes) bytes *= size;
  const Handle space(sizes.empty()
                         ? H5Screate(H5S_SCALAR)
                         : H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr),
                     H5Sclose);
  must(space.valid(), "make the shape of " + name);
  const Handle dataset = impl_->dataset(name, native_type(type), space.get(),
                                        {static_cast<const std::byte*>(data), bytes});
  if (type == ElementType::kBF16) text_attribute(dataset.get(), kTypeAttribute, "bf16");
}

void Hdf5Writer::tensor(const std::string& name, const Tensor& value) {
  std::vector<int64_t> shape;
  for (int axis = 0; axis < value.shape().axes(); ++axis) shape.push_back(value.shape()[axis]);
  array(name, element_type(value.dtype()), shape, value.raw());
}

void Hdf5Writer::integer(const std::string& name, int64_t value) {
  array(name, ElementType::kI64, {}, &value);
}

void Hdf5Writer::real(const std::string& name, double value) {
  array(name, ElementType::kF64, {}, &value);
}

void Hdf5Writer::text(const std::string& name, const std::string& value) {
  const Handle type = text_type(value), space = text_space(value);
  impl_->dataset(name, type.get(), space.get(), std::as_bytes(std::span(value)));
}

void Hdf5Writer::stream(const std::string& name, ElementType type, int64_t count,
                        const std::string& xxh3, ReadStreamed read) {
  check<Error>(impl_->streams, "this file was not begun for streaming");
  const hsize_t size = static_cast<hsize_t>(count);
  const Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose);
  must(space.valid(), "make the shape of " + name);
  const Handle dataset = impl_->empty_dataset(name, native_type(type), space.get(), xxh3);
  if (count == 0) return;
  const haddr_t offset = H5Dget_offset(dataset.get());
  must(offset != HADDR_UNDEF, "place dataset " + name);
  impl_->streamed.push_back({name, xxh3, {offset, size * size_of(type)}, std::move(read)});
}

void Hdf5Writer::write(const std::string& path) {
  must(H5Fflush(impl_->file.get(), H5F_SCOPE_LOCAL) >= 0, "complete the file in memory");
  if (impl_->streams) return impl_->write_streaming(path);
  impl_->write_memory(path);
}

void Hdf5Writer::Impl::write_memory(const std::string& path) const {
  void** memory = nullptr;
  const ssize_t length = H5Fget_file_image(file.get(), nullptr, 0);
  must(H5Fget_vfd_handle(file.get(), H5P_DEFAULT, reinterpret_cast<void**>(&memory)) >= 0 &&
           length > 0,
       "get at the file in memory");
  const std::span<const std::byte> image(static_cast<const std::byte*>(*memory) + kUserBlockBytes,
                                         static_cast<size_t>(length));
  Xxh3 sum(Xxh3::Bits::k128);
  sum.add(image);
  const std::string block = UserBlock{image.size(), sum.hex(), {}, ""}.text();
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(block)), image};
  write_atomically(path, parts);
}

void Hdf5Writer::Impl::write_streaming(const std::string& path) const {
  hsize_t size = 0;
  must(H5Fget_filesize(file.get(), &size) >= 0, "measure the file in memory");
  std::vector<Streamed> arrays = streamed;
  std::sort(arrays.begin(), arrays.end(),
            [](const Streamed& a, const Streamed& b) { return a.range.offset < b.range.offset; });
  AtomicWriter out(path, size);
  const std::string nothing(kUserBlockBytes, '\0');
  out.append(std::as_bytes(std::span(nothing)));
  UserBlock block;
  block.length = size - kUserBlockBytes;
  Xxh3 whole(Xxh3::Bits::k128), layout(Xxh3::Bits::k128);
  std::vector<std::byte> buffer(1 << 20);
  uint64_t at = kUserBlockBytes;
  // Takes the bytes up to `end` from `read(offset, piece)`, into the file and the sums.
  const auto copy = [&](uint64_t end, Xxh3& sum, const ReadStreamed& read) {
    for (const uint64_t begin = at; at < end;) {
      const auto piece = std::span(buffer).first(std::min<uint64_t>(buffer.size(), end - at));
      read(at - begin, piece);
      whole.add(piece);
      sum.add(piece);
      out.append(piece);
      at += piece.size();
    }
  };
  const auto copy_layout = [&](uint64_t end) {
    copy(end, layout, [&, begin = at](uint64_t offset, std::span<std::byte> piece) {
      const ssize_t got = read_all(sparse, begin + offset, piece);
      must(got >= 0, "read the file in memory");
      // HDF5 need not have written up to the end.
      std::fill(piece.begin() + got, piece.end(), std::byte{0});
    });
  };
  for (const Streamed& array : arrays) {
    copy_layout(array.range.offset);
    Xxh3 sum(Xxh3::Bits::k64);
    copy(at + array.range.length, sum, array.read);
    check<CheckpointError>(sum.hex() == array.xxh3, "{}: dataset {} is not what it was", path,
                           array.name);
    block.streamed.push_back(array.range);
  }
  copy_layout(size);
  block.digest = whole.hex();
  const std::string line = block.first_line();
  layout.add(std::as_bytes(std::span(line)));
  block.layout_digest = layout.hex();
  const std::string text = block.text();
  out.overwrite(0, std::as_bytes(std::span(text)));
  out.commit();
}

}  // namespace tapemeasure
