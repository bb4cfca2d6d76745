// SPDX-License-Identifier: MIT
#include "core/tensor.h"

#include "core/backend.h"
#include "core/error.h"

namespace tapemeasure {

size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 8;
    case DType::kBF16:
      return 2;
    case DType::kF32:
    case DType::kI32:
      return 4;
  }
  return 0;
}

const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kF64:
      return "f64";
    case DType::kBF16:
      return "bf16";
    case DType::kI32:
      return "i32";
  }
  return "?";
}

Shape::Shape(std::initializer_list<int64_t> sizes) {
  check<ShapeError>(sizes.size() <= kMaxAxes, "a tensor has at most {} axes, not {}", kMaxAxes,
                    sizes.size());
  for (const int64_t size : sizes) sizes_[axes_++] = size;
}

int64_t Shape::count() const {
  int64_t count = 1;
  for (int axis = 0; axis < axes_; ++axis) count *= sizes_[axis];
  return count;
}

Shape Shape::with_first(int64_t size) const {
  Shape shape = *this;
  shape.sizes_[0] = size;
  return shape;
}

Shape Shape::with_last(int64_t size) const {
  Shape shape = *this;
  shape.sizes_[axes_ - 1] = size;
  return shape;
}

bool Shape::operator==(const Shape& other) const {
  if (axes_ != other.axes_) return false;
  for (int axis = 0; axis < axes_; ++axis) {
    if (sizes_[axis] != other.sizes_[axis]) return false;
  }
  return true;
}

std::string Shape::str() const {
  std::string text = "[";
  for (int axis = 0; axis < axes_; ++axis) {
    text += (axis ? ", " : "") + std::to_string(sizes_[axis]);
  }
  return text + "]";
}

Storage::~Storage() { backend_.give_back(data_, bytes_); }

Tensor::Tensor(std::shared_ptr<Storage> storage, size_t offset, Shape shape, DType dtype)
    : storage_(std::move(storage)), offset_(offset), shape_(shape), dtype_(dtype) {}

Tensor Tensor::reshaped(const Shape& shape) const {
  check<ShapeError>(shape.count() == count(), "reshape: {} has {} elements, {} has {}", shape_,
                    count(), shape, shape.count());
  Tensor tensor = *this;
  tensor.shape_ = shape;
  return tensor;
}

Tensor Tensor::rows(int64_t first, int64_t count) const {
  check<ShapeError>(shape_.axes() > 0 && first >= 0 && count >= 0 && first + count <= shape_[0],
                    "rows {} to {} are not in {}", first, first + count, shape_);
  Tensor tensor = *this;
  tensor.offset_ += static_cast<size_t>(first * shape_.row_count()) * size_of(dtype_);
  tensor.shape_ = shape_.with_first(count);
  return tensor;
}

Tensor Tensor::sequence_rows(int64_t sequence, int64_t first, int64_t count) const {
  check<ShapeError>(shape_.axes() == 3, "rows of a sequence are of [B, T, D], not of {}", shape_);
  return rows(sequence, 1).reshaped({shape_[1], shape_[2]}).rows(first, count);
}

Tensor empty(Backend& backend, const Shape& shape, DType dtype) {
  const size_t bytes = static_cast<size_t>(shape.count()) * size_of(dtype);
  return Tensor(backend.allocate(bytes), 0, shape, dtype);
}

Tensor empty_like(const Tensor& tensor) {
  return empty(tensor.backend(), tensor.shape(), tensor.dtype());
}

Tensor zeros(Backend& backend, const Shape& shape, DType dtype) {
  Tensor tensor = empty(backend, shape, dtype);
  backend.fill(tensor, 0);
  return tensor;
}

}  // namespace tapemeasure
