// SPDX-License-Identifier: MIT
// Rows of tables by id and by position.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/backends/cpu/tables.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cassert>

#include "core/backends/cpu/column_sums.h"
#include "core/backends/cpu/cpu_backend.h"
#include "core/backends/cpu/f32.h"
#include "core/backends/cpu/parallel.h"
#include "core/backends/cpu/simd_inl.h"
#include "core/backends/kernel_support.h"

namespace tapemeasure::cpu {
#ifndef TAPEMEASURE_TABLES_TYPES
#define TAPEMEASURE_TABLES_TYPES
/// Rows of a matrix, by number.
struct Gather {
  const float* x;
  int64_t stride;
  const int32_t* rows;
  int64_t count;
};
#endif
}  // namespace tapemeasure::cpu

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu::HWY_NAMESPACE {

/// y = x + factor * row, where x may be null for 0.
void scaled_row(const float* x, float factor, const float* row, float* y, bool add, int64_t count) {
  const D d;
  const V f = hn::Set(d, factor);
  for_vectors(d, count, [&](int64_t i, auto lanes) HWY_ATTR {
    V v = hn::Mul(f, lanes.load(d, row + i));
    if (x != nullptr) v = hn::Add(lanes.load(d, x + i), v);
    put(d, lanes, v, y + i, add);
  });
}

/// Sums of four vectors of columns at once, over pieces of rows so that long sums stay accurate.
template <class Lanes>
HWY_INLINE V gathered_sum(D d, const Gather& from, int64_t column, Lanes lanes) {
  constexpr int64_t kRows = 128;
  V total = hn::Zero(d);
  for (int64_t first = 0; first < from.count; first += kRows) {
    V sum = hn::Zero(d);
    for (int64_t i = first; i < HWY_MIN(first + kRows, from.count); ++i) {
      sum = hn::Add(sum, lanes.load(d, from.x + from.rows[i] * from.stride + column));
    }
    total = hn::Add(total, sum);
  }
  return total;
}

/// y = factor * sum of the gathered rows, `count` columns.
void sum_gathered(const Gather& from, float factor, float* y, bool add, int64_t count) {
  const D d;
  const V f = hn::Set(d, factor);
  for_vectors(d, count, [&](int64_t c, auto lanes) HWY_ATTR {
    put(d, lanes, hn::Mul(f, gathered_sum(d, from, c, lanes)), y + c, add);
  });
}

}  // namespace tapemeasure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapemeasure {
namespace cpu {
HWY_EXPORT(scaled_row);
HWY_EXPORT(sum_gathered);

namespace {
/// Counting sort: order[begin[id] .. begin[id + 1]) are the n with ids[n] = id, ascending.
void sort_by_id(const int32_t* ids, int64_t count, int64_t rows, int32_t* begin, int32_t* order) {
  std::fill(begin, begin + rows + 2, 0);
  for (int64_t n = 0; n < count; ++n) {
    assert(ids[n] >= 0 && ids[n] < rows);
    ++begin[ids[n] + 2];
  }
  for (int64_t id = 0; id < rows; ++id) begin[id + 2] += begin[id + 1];
  // begin[id + 1] is where id's next n goes; when all are placed it is where id ends.
  for (int64_t n = 0; n < count; ++n) order[begin[ids[n] + 1]++] = static_cast<int32_t>(n);
}
}  // namespace
}  // namespace cpu

void CpuBackend::embed(const Tensor& table, const Tensor& ids, double factor, const Into& y) {
  const int64_t width = columns_of(table);
  const float* rows = cpu::f32(table);
  float* to = cpu::f32(y.tensor);
  const int32_t* id = ids.data<int32_t>();
  cpu::parallel_ranges(threads_, ids.count(), y.tensor.count(), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      assert(id[n] >= 0 && id[n] < rows_of(table));
      HWY_DYNAMIC_DISPATCH(cpu::scaled_row)
      (nullptr, static_cast<float>(factor), rows + id[n] * width, to + n * width,
       y.write == Write::kAdd, width);
    }
  });
}

void CpuBackend::embed_grad(const Tensor& ids, const Tensor& dy, double factor,
                            const Into& dtable) {
  const int64_t rows = rows_of(dtable.tensor), width = columns_of(dtable.tensor);
  const Tensor starts = scratch({rows + 2}, DType::kI32), order = scratch(ids.shape(), DType::kI32);
  const int32_t* begin = starts.data<int32_t>();
  cpu::sort_by_id(ids.data<int32_t>(), ids.count(), rows, starts.data<int32_t>(),
                  order.data<int32_t>());
  const float* from = cpu::f32(dy);
  float* to = cpu::f32(dtable.tensor);
  // A frequent id must not be one thread's work alone, so columns are shared out too. Each element
  // is summed by one thread in one order, whoever that is.
  constexpr int64_t kColumns = 64;
  const int64_t parts = (width + kColumns - 1) / kColumns;
#pragma omp parallel for collapse(2) schedule(dynamic, 32) num_threads( \
    threads_) if (threads_ > 1 && dy.count() + dtable.tensor.count() > cpu::kWorthAFork)
  for (int64_t id = 0; id < rows; ++id) {
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t column = part * kColumns;
      const int32_t count = begin[id + 1] - begin[id];
      if (count == 0 && dtable.write == Write::kAdd) continue;
      HWY_DYNAMIC_DISPATCH(cpu::sum_gathered)
      ({from + column, width, order.data<int32_t>() + begin[id], count}, static_cast<float>(factor),
       to + id * width + column, dtable.write == Write::kAdd, std::min(kColumns, width - column));
    }
  }
}

void CpuBackend::add_rows(const Tensor& x_BTD, const Tensor& table, int64_t first_row,
                          double factor, const Into& y) {
  const int64_t T = x_BTD.shape()[-2], width = columns_of(x_BTD);
  const float *x = cpu::f32(x_BTD), *rows = cpu::f32(table) + first_row * width;
  float* to = cpu::f32(y.tensor);
  cpu::parallel_ranges(threads_, rows_of(x_BTD), x_BTD.count(), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      HWY_DYNAMIC_DISPATCH(cpu::scaled_row)
      (x + n * width, static_cast<float>(factor), rows + n % T * width, to + n * width,
       y.write == Write::kAdd, width);
    }
  });
}

void CpuBackend::add_rows_grad(const Tensor& dy_BTD, int64_t first_row, double factor,
                               const Into& dtable) {
  const int64_t width = columns_of(dy_BTD), size = dy_BTD.shape()[-2] * width;
  const int64_t first = first_row * width, rest = dtable.tensor.count() - first - size;
  if (dtable.write == Write::kSet) {
    const Tensor flat = dtable.tensor.reshaped({dtable.tensor.count()});
    fill(flat.rows(0, first), 0);
    fill(flat.rows(first + size, rest), 0);
  }
  cpu::column_sums(threads_,
                   {.x = cpu::f32(dy_BTD),
                    .rows = size == 0 ? 0 : dy_BTD.count() / size,
                    .stride = size,
                    .columns = size,
                    .factor = static_cast<float>(factor)},
                   cpu::f32(dtable.tensor) + first, dtable.write == Write::kAdd);
}

}  // namespace tapemeasure
#endif
