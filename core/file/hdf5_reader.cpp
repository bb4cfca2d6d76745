// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/error.h"
#include "core/file/checksum.h"
#include "core/file/hdf5_handle.h"

namespace tapemeasure {
namespace {

// What H5Tget_class and friends say, as the type that its values are read as.
ElementType stored_type(hid_t type, bool& supported) {
  const size_t size = H5Tget_size(type);
  const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
  supported = size <= 8;
  switch (H5Tget_class(type)) {
    case H5T_FLOAT:
      return size <= 4 ? ElementType::kF32 : ElementType::kF64;
    case H5T_INTEGER:
      if (size == 8) return ElementType::kI64;
      if (is_signed) return ElementType::kI32;
      return size == 4 ? ElementType::kU32 : size == 2 ? ElementType::kU16 : ElementType::kU8;
    default:
      supported = false;
      return ElementType::kU8;
  }
}

bool is_real(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kF64 || type == ElementType::kBF16;
}

// Calls `use` with a value of the C++ type that stands for `type`.
template <class Use>
void with_type(ElementType type, Use use) {
  switch (type) {
    case ElementType::kU8:
      return use(uint8_t{});
    case ElementType::kU16:
    case ElementType::kBF16:
      return use(uint16_t{});
    case ElementType::kU32:
      return use(uint32_t{});
    case ElementType::kI32:
      return use(int32_t{});
    case ElementType::kI64:
      return use(int64_t{});
    case ElementType::kF32:
      return use(float{});
    case ElementType::kF64:
      return use(double{});
  }
}

double from_bf16(uint16_t word) { return std::bit_cast<float>(static_cast<uint32_t>(word) << 16); }

// To nearest, ties to even; a NaN stays one.
uint16_t to_bf16(double value) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/// Converts element by element; false when an integer does not fit.
bool convert(ElementType from, const void* source, ElementType to, void* target, size_t count) {
  bool fits = true;
  with_type(from, [&](auto from_value) {
    with_type(to, [&](auto to_value) {
      using From = decltype(from_value);
      using To = decltype(to_value);
      const From* in = static_cast<const From*>(source);
      To* out = static_cast<To*>(target);
      for (size_t i = 0; i < count; ++i) {
        if (from == ElementType::kBF16 || to == ElementType::kBF16) {
          const double value = from == ElementType::kBF16 ? from_bf16(static_cast<uint16_t>(in[i]))
                                                          : static_cast<double>(in[i]);
          out[i] =
              to == ElementType::kBF16 ? static_cast<To>(to_bf16(value)) : static_cast<To>(value);
        } else {
          if constexpr (std::is_integral_v<From> && std::is_integral_v<To>)
            fits = fits && std::in_range<To>(in[i]);
          out[i] = static_cast<To>(in[i]);
        }
      }
    });
  });
  return fits;
}

// The text of an attribute or a dataset: `read` fills memory of a type.
template <class Read>
bool read_text(hid_t type, hid_t space, Read read, std::string& text) {
  text.clear();
  if (H5Sget_simple_extent_type(space) == H5S_NULL) return true;
  if (H5Sget_simple_extent_npoints(space) != 1) return false;
  if (H5Tis_variable_str(type) > 0) {
    char* content = nullptr;
    const Handle memory(H5Tcopy(type), H5Tclose);
    if (read(memory.get(), &content) < 0) return false;
    if (content) text = content;
    H5free_memory(content);
    return true;
  }
  text.resize(H5Tget_size(type));
  return read(type, text.data()) >= 0;
}

}  // namespace

struct Hdf5Reader::Impl {
  std::string path;
  Handle file;

  struct Dataset {
    Handle handle, type, space;
    ArrayInfo info;
    size_t count = 0;
  };

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw CheckpointError(path + ": " + fmt::format(format, std::forward<Args>(args)...));
  }

  Dataset open(const std::string& name) const {
    Dataset result;
    result.handle = Handle(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!result.handle.valid()) fail("has no dataset {}", name);
    result.type = Handle(H5Dget_type(result.handle.get()), H5Tclose);
    result.space = Handle(H5Dget_space(result.handle.get()), H5Sclose);
    const hid_t type = result.type.get(), space = result.space.get();
    ArrayInfo& info = result.info;
    info.name = name;
    info.is_text = H5Tget_class(type) == H5T_STRING;
    result.count = static_cast<size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space)));
    if (info.is_text) {
      info.type = ElementType::kU8;
      info.bytes = result.count * H5Tget_size(type);
      return result;
    }
    bool supported = false;
    info.type = stored_type(type, supported);
    if (!supported) fail("dataset {} holds neither numbers nor a text", name);
    if (attribute(result.handle.get(), kTypeAttribute) == "bf16") info.type = ElementType::kBF16;
    std::vector<hsize_t> sizes(static_cast<size_t>(std::max(0, H5Sget_simple_extent_ndims(space))));
    if (!sizes.empty()) H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
    info.shape.assign(sizes.begin(), sizes.end());
    info.bytes = result.count * size_of(info.type);
    return result;
  }

  /// "" if there is none.
  std::string attribute(hid_t object, const std::string& name) const {
    if (H5Aexists(object, name.c_str()) <= 0) return "";
    const Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
    const Handle type(H5Aget_type(attribute.get()), H5Tclose);
    const Handle space(H5Aget_space(attribute.get()), H5Sclose);
    std::string text;
    const bool read =
        H5Tget_class(type.get()) == H5T_STRING &&
        read_text(
            type.get(), space.get(),
            [&](hid_t memory, void* data) { return H5Aread(attribute.get(), memory, data); }, text);
    if (!read) fail("attribute {} is not a text", name);
    // Attributes of others may be padded with zeros.
    return text.substr(0, text.find('\0'));
  }

  void check_sum(const Dataset& dataset, const std::string& found) const {
    const std::string expected = attribute(dataset.handle.get(), kChecksumAttribute);
    if (!expected.empty() && expected != found) fail("damaged: dataset {}", dataset.info.name);
  }

  /// The values as they are stored, into memory of info.bytes.
  void read_stored(const Dataset& dataset, void* data) const {
    const hid_t type = dataset.info.is_text ? dataset.type.get() : native_type(dataset.info.type);
    if (dataset.count > 0 &&
        H5Dread(dataset.handle.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
      fail("damaged: dataset {} cannot be read", dataset.info.name);
    check_sum(dataset, checksum({static_cast<const std::byte*>(data), dataset.info.bytes}));
  }

  /// Without a copy in memory: ours are stored as they are read.
  void verify_in_place(const Dataset& dataset) const {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) fail("cannot read: {}", std::strerror(errno));
    Xxh3 sum(Xxh3::Bits::k64);
    const ByteRange range{H5Dget_offset(dataset.handle.get()), dataset.info.bytes};
    const bool read = read_range(fd, range, [&](auto bytes) { sum.add(bytes); });
    ::close(fd);
    if (!read) fail("damaged: dataset {} cannot be read", dataset.info.name);
    check_sum(dataset, sum.hex());
  }

  std::string text(const Dataset& dataset) const {
    if (!dataset.info.is_text) fail("dataset {} is not a text", dataset.info.name);
    if (dataset.count > 1)
      fail("dataset {} holds {} texts, not one", dataset.info.name, dataset.count);
    std::string text;
    const bool read = read_text(
        dataset.type.get(), dataset.space.get(),
        [&](hid_t memory, void* data) {
          return H5Dread(dataset.handle.get(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
        },
        text);
    if (!read) fail("damaged: dataset {} cannot be read", dataset.info.name);
    check_sum(dataset, checksum(std::as_bytes(std::span(text))));
    return text;
  }

  void collect(const std::string& group, int depth, std::vector<std::string>& names) const;
};

namespace {

herr_t add_name(hid_t, const char* name, const H5L_info_t* info, void* names) {
  if (info->type == H5L_TYPE_HARD) static_cast<std::vector<std::string>*>(names)->push_back(name);
  return 0;
}

}  // namespace

void Hdf5Reader::Impl::collect(const std::string& group, int depth,
                               std::vector<std::string>& names) const {
  // A file of others may hold a group within itself.
  constexpr int kMaxDepth = 32;
  if (depth > kMaxDepth) fail("groups lie more than {} deep", kMaxDepth);
  const std::string where = group.empty() ? "/" : group;
  const Handle object(H5Oopen(file.get(), where.c_str(), H5P_DEFAULT), H5Oclose);
  if (!object.valid()) fail("has no group {}", where);
  const H5I_type_t kind = H5Iget_type(object.get());
  if (kind == H5I_DATASET) names.push_back(group);
  if (kind != H5I_GROUP) return;
  std::vector<std::string> children;
  if (H5Literate(object.get(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, add_name, &children) < 0)
    fail("damaged: group {} cannot be read", where);
  for (const std::string& child : children)
    collect(group.empty() ? child : group + "/" + child, depth + 1, names);
}

Hdf5Reader::Hdf5Reader(const std::string& path, bool checked)
    : Hdf5Reader(path, checked ? Hdf5Check::kWhole : Hdf5Check::kNothing) {}

Hdf5Reader::Hdf5Reader(const std::string& path, Hdf5Check check) : impl_(std::make_unique<Impl>()) {
  silence_hdf5();
  impl_->path = path;
  if (check != Hdf5Check::kNothing) check_file(path, check == Hdf5Check::kLayout);
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) impl_->fail("cannot read: {}", std::strerror(errno));
  if (S_ISDIR(status.st_mode)) impl_->fail("cannot read: a folder");
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // Files are complete once they have their name; network file systems often cannot lock.
  H5Pset_file_locking(access.get(), false, true);
  impl_->file = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (!impl_->file.valid()) impl_->fail("not an HDF5 file, or damaged");
}

Hdf5Reader::~Hdf5Reader() = default;
Hdf5Reader::Hdf5Reader(Hdf5Reader&&) noexcept = default;

const std::string& Hdf5Reader::path() const { return impl_->path; }

std::string Hdf5Reader::format() const { return attribute("format"); }

std::string Hdf5Reader::attribute(const std::string& name) const {
  return impl_->attribute(impl_->file.get(), name);
}

double Hdf5Reader::number_attribute(const std::string& name) const {
  const Handle attribute(H5Aopen(impl_->file.get(), name.c_str(), H5P_DEFAULT), H5Aclose);
  const Handle space(attribute.valid() ? H5Aget_space(attribute.get()) : -1, H5Sclose);
  double value = 0;
  if (!space.valid() || H5Sget_simple_extent_npoints(space.get()) != 1 ||
      H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, &value) < 0)
    impl_->fail("has no number attribute {}", name);
  return value;
}

bool Hdf5Reader::has(const std::string& name) const {
  return H5Lexists(impl_->file.get(), name.c_str(), H5P_DEFAULT) > 0;
}

ArrayInfo Hdf5Reader::info(const std::string& name) const { return impl_->open(name).info; }

std::vector<ArrayInfo> Hdf5Reader::list(const std::string& group) const {
  std::vector<std::string> names;
  impl_->collect(group, 0, names);
  std::sort(names.begin(), names.end());
  std::vector<ArrayInfo> result;
  for (const std::string& name : names) result.push_back(info(name));
  return result;
}

void Hdf5Reader::read(const std::string& name, ElementType type, void* data) const {
  const Impl::Dataset dataset = impl_->open(name);
  const ArrayInfo& info = dataset.info;
  if (info.is_text) impl_->fail("dataset {} is a text", name);
  if (info.type == type) return impl_->read_stored(dataset, data);
  if (is_real(info.type) && !is_real(type)) impl_->fail("dataset {} holds no integers", name);
  std::vector<std::byte> stored(info.bytes);
  impl_->read_stored(dataset, stored.data());
  if (!convert(info.type, stored.data(), type, data, dataset.count))
    impl_->fail("dataset {} holds integers that are too large", name);
}

std::vector<double> Hdf5Reader::reals(const std::string& name) const {
  std::vector<double> result(impl_->open(name).count);
  read(name, ElementType::kF64, result.data());
  return result;
}

std::vector<int64_t> Hdf5Reader::integers(const std::string& name) const {
  std::vector<int64_t> result(impl_->open(name).count);
  read(name, ElementType::kI64, result.data());
  return result;
}

int64_t Hdf5Reader::integer(const std::string& name) const {
  const std::vector<int64_t> values = integers(name);
  if (values.size() != 1) impl_->fail("dataset {} holds {} values, not one", name, values.size());
  return values[0];
}

double Hdf5Reader::real(const std::string& name) const {
  const std::vector<double> values = reals(name);
  if (values.size() != 1) impl_->fail("dataset {} holds {} values, not one", name, values.size());
  return values[0];
}

std::string Hdf5Reader::text(const std::string& name) const {
  return impl_->text(impl_->open(name));
}

uint64_t Hdf5Reader::offset(const std::string& name) const {
  const Impl::Dataset dataset = impl_->open(name);
  const haddr_t offset = H5Dget_offset(dataset.handle.get());
  if (offset == HADDR_UNDEF || dataset.count == 0)
    impl_->fail("dataset {} does not lie in one piece", name);
  return offset;
}

void Hdf5Reader::verify() const {
  constexpr size_t kLarge = 64 << 20;
  for (const ArrayInfo& info : list()) {
    const Impl::Dataset dataset = impl_->open(info.name);
    if (info.is_text) {
      impl_->text(dataset);
    } else if (info.bytes > kLarge && H5Dget_offset(dataset.handle.get()) != HADDR_UNDEF) {
      impl_->verify_in_place(dataset);
    } else {
      std::vector<std::byte> bytes(info.bytes);
      impl_->read_stored(dataset, bytes.data());
    }
  }
}

}  // namespace tapemeasure
