// SPDX-License-Identifier: MIT
// A tensor: contiguous, row-major numbers of one dtype, up to five axes, in a backend's memory.
// There are no strides. Copies of a Tensor share their storage; `rows` and `reshaped` share too.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace tapemeasure {

class Backend;

enum class DType : uint8_t { kF32, kF64, kBF16, kI32 };

/// Bytes of one element.
size_t size_of(DType dtype);
/// "f32", "f64", "bf16", "i32".
const char* name_of(DType dtype);

/// Up to five axis sizes, each >= 0. Negative indices count from the last axis.
class Shape {
 public:
  static constexpr int kMaxAxes = 5;
  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes);

  int axes() const { return axes_; }
  int64_t operator[](int axis) const { return sizes_[axis < 0 ? axes_ + axis : axis]; }
  /// Number of elements; 1 without axes.
  int64_t count() const;
  /// Elements of one slice along axis 0.
  int64_t row_count() const { return axes_ == 0 || sizes_[0] == 0 ? 0 : count() / sizes_[0]; }
  /// The same shape with its first axis replaced.
  Shape with_first(int64_t size) const;
  /// The same shape with its last axis replaced.
  Shape with_last(int64_t size) const;
  bool operator==(const Shape& other) const;
  bool operator!=(const Shape& other) const { return !(*this == other); }
  /// "[2, 3, 4]".
  std::string str() const;

 private:
  std::array<int64_t, kMaxAxes> sizes_{};
  int axes_ = 0;
};

/// A block of a backend's memory, given back to the backend's pool when the last owner goes.
class Storage {
 public:
  Storage(Backend& backend, void* data, size_t bytes)
      : backend_(backend), data_(data), bytes_(bytes) {}
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Backend& backend() const { return backend_; }
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  size_t bytes() const { return bytes_; }

 private:
  Backend& backend_;
  void* data_;
  size_t bytes_;
};

class Tensor {
 public:
  Tensor() = default;
  /// A view of `storage` that starts `offset` bytes in.
  Tensor(std::shared_ptr<Storage> storage, size_t offset, Shape shape, DType dtype);

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  int64_t count() const { return shape_.count(); }
  DType dtype() const { return dtype_; }
  size_t bytes() const { return static_cast<size_t>(count()) * size_of(dtype_); }
  /// REQUIRES: defined().
  Backend& backend() const { return storage_->backend(); }
  void* raw() const { return storage_->data() + offset_; }
  /// The elements, where they lie. REQUIRES: T matches dtype(); host memory.
  template <class T>
  T* data() const {
    return static_cast<T*>(raw());
  }
  /// True if another tensor shares this storage, so that writing here would be seen there.
  bool shared() const { return storage_.use_count() > 1; }

  /// The same elements under another shape. Throws ShapeError when the counts differ.
  Tensor reshaped(const Shape& shape) const;
  /// Slices [first, first + count) of axis 0, sharing storage.
  Tensor rows(int64_t first, int64_t count) const;
  /// Rows [first, first + count) of sequence `sequence` of a tensor [B, T, D]: [count, D], sharing
  /// storage.
  Tensor sequence_rows(int64_t sequence, int64_t first, int64_t count) const;

 private:
  std::shared_ptr<Storage> storage_;
  size_t offset_ = 0;
  Shape shape_;
  DType dtype_ = DType::kF32;
};

/// Uninitialised tensors.
Tensor empty(Backend& backend, const Shape& shape, DType dtype);
Tensor empty_like(const Tensor& tensor);
/// All elements 0.
Tensor zeros(Backend& backend, const Shape& shape, DType dtype);

}  // namespace tapemeasure

/// Shapes print as str(), made only when a message is.
template <>
struct fmt::formatter<tapemeasure::Shape> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const tapemeasure::Shape& shape, Context& context) const {
    return fmt::formatter<std::string_view>::format(shape.str(), context);
  }
};
