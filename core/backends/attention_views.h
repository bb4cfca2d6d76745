// SPDX-License-Identifier: MIT
// Small views through which attention kernels read and write head vectors and tables where they
// lie. They hold raw pointers, so they never outlive the call that made them.
#pragma once

#include <cstdint>

#include "core/backend.h"

namespace tapemeasure {

/// The head vectors of a HeadRows.
template <class T>
struct HeadView {
  HeadView() = default;
  HeadView(const HeadRows& x, int64_t width) : rows(x.rows), width(width) {
    if (!x.tensor.defined()) return;
    columns = x.tensor.shape()[-1];
    data = x.tensor.template data<T>() + x.first_column;
  }
  explicit operator bool() const { return data != nullptr; }
  T* at(int64_t sequence, int64_t row, int64_t head) const {
    return data + (sequence * rows + row) * columns + head * width;
  }

  T* data = nullptr;
  int64_t rows = 0, columns = 0, width = 0;
};

/// The rows of a table, or of its gradient, in any layout.
template <class T>
struct TableView {
  TableView() = default;
  TableView(T* data, const Shape& shape, TableLayout layout, int64_t width) : data(data) {
    rows = layout == TableLayout::kPerHead ? shape[1] : shape[0];
    row_stride = layout == TableLayout::kProjected ? shape[1] : width;
    head_stride = layout == TableLayout::kShared    ? 0
                  : layout == TableLayout::kPerHead ? rows * width
                                                    : width;
  }
  explicit operator bool() const { return data != nullptr; }
  T* at(int64_t head, int64_t row) const { return data + head * head_stride + row * row_stride; }

  T* data = nullptr;
  int64_t rows = 0, row_stride = 0, head_stride = 0;
};

/// The row that a map gives to an offset.
inline int64_t row_of(const OffsetMap& map, int64_t offset) {
  return map.rows.data<int32_t>()[offset - map.first_offset];
}

/// Element of a call's dropout that decides about one pair.
inline uint64_t dropout_element(int64_t head, int64_t query_position, int64_t key_position) {
  return ((static_cast<uint64_t>(head) << 24) + static_cast<uint64_t>(query_position)) *
             (1u << 24) +
         static_cast<uint64_t>(key_position);
}

}  // namespace tapemeasure
