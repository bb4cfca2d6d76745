// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/hdf5_handle.h"

namespace tapemeasure {
namespace {

// Memory grows in steps of this size, each cleared: large ones would make small files slow. Large
// blocks grow by moving pages, not bytes.
constexpr size_t kGrowth = 1 << 20;

void must(bool ok, const std::string& what) { check<Error>(ok, "HDF5: cannot {}", what); }

// A writer's texts are UTF-8 for h5py unless they are not: then plain bytes.
bool is_utf8(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80   ? 1
                          : lead < 0xC2 ? 0
                          : lead < 0xE0 ? 2
                          : lead < 0xF0 ? 3
                          : lead < 0xF5 ? 4
                                        : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    i += length;
  }
  return true;
}

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

void silence_hdf5() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

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

  Impl() {
    silence_hdf5();
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    // Version 1.8 of the format is the first whose groups hold thousands of long names well, and
    // the last that marks no file as open for writing.
    must(H5Pset_fapl_core(access.get(), kGrowth, false) >= 0 &&
             H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V110) >= 0 &&
             H5Pset_userblock(creation.get(), kUserBlockBytes) >= 0 &&
             H5Pset_obj_track_times(creation.get(), false) >= 0,
         "set up a file in memory");
    file = Handle(H5Fcreate("memory", H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose);
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

  Handle dataset(const std::string& name, hid_t type, hid_t space,
                 std::span<const std::byte> bytes) {
    make_groups(name);
    Handle dataset(H5Dcreate2(file.get(), name.c_str(), type, space, H5P_DEFAULT,
                              dataset_properties.get(), H5P_DEFAULT),
                   H5Dclose);
    must(dataset.valid(), "create dataset " + name);
    if (!bytes.empty())
      must(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) >= 0,
           "write dataset " + name);
    text_attribute(dataset.get(), kChecksumAttribute, checksum(bytes));
    return dataset;
  }
};

Hdf5Writer::Hdf5Writer(const std::string& format) : impl_(std::make_unique<Impl>()) {
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

void Hdf5Writer::write(const std::string& path) {
  const hid_t file = impl_->file.get();
  must(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0, "complete the file in memory");
  void** memory = nullptr;
  const ssize_t length = H5Fget_file_image(file, nullptr, 0);
  must(H5Fget_vfd_handle(file, H5P_DEFAULT, reinterpret_cast<void**>(&memory)) >= 0 && length > 0,
       "get at the file in memory");
  const std::span<const std::byte> image(static_cast<const std::byte*>(*memory) + kUserBlockBytes,
                                         static_cast<size_t>(length));
  const std::string block = user_block(image);
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(block)), image};
  write_atomically(path, parts);
}

}  // namespace tapemeasure
