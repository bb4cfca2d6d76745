// SPDX-License-Identifier: MIT
// Rows of tables by id and by position, and rotary positions.
#include <cassert>

#include "core/backends/kernel_support.h"
#include "core/backends/reference/reference_backend.h"
#include "core/backends/reference/scratch.h"

namespace tapemeasure {

namespace {

using reference::Scratch;

/// dtable[id, c] = factor * sum over n with ids[n] = id of dy[n, c].
template <class T>
void scatter(const Tensor& ids, const Tensor& dy_ND, double factor, const Into& dtable_VD) {
  const int64_t N = ids.count(), D = columns_of(dy_ND);
  Scratch sums(dtable_VD.tensor.count());
  for (int64_t n = 0; n < N; ++n) {
    const int64_t id = ids.data<int32_t>()[n];
    assert(id >= 0 && id < rows_of(dtable_VD.tensor));
    for (int64_t c = 0; c < D; ++c) sums[id * D + c] += dy_ND.data<T>()[n * D + c];
  }
  for (int64_t i = 0; i < dtable_VD.tensor.count(); ++i) {
    put(dtable_VD.tensor.data<T>()[i], dtable_VD.write, factor * sums[i]);
  }
}

/// (a, b) -> (a cos - b sin, a sin + b cos); the inverse has -sin.
template <class T>
void rotate_vector(const Backend::Rotation& how, int64_t table_row, const T* x, T* y, Write write) {
  const int64_t pairs = columns_of(how.cosine);
  const T* cosine = how.cosine.data<T>() + table_row * pairs;
  const T* sine = how.sine.data<T>() + table_row * pairs;
  for (int64_t f = 0; f < pairs; ++f) {
    const int64_t first = how.interleaved ? 2 * f : f;
    const int64_t second = how.interleaved ? 2 * f + 1 : f + pairs;
    const double a = x[first], b = x[second];
    const double c = cosine[f], s = how.inverse ? -sine[f] : sine[f];
    put(y[first], write, a * c - b * s);
    put(y[second], write, a * s + b * c);
  }
  for (int64_t i = 2 * pairs; i < how.width; ++i) put(y[i], write, x[i]);
}

}  // namespace

void ReferenceBackend::embed(const Tensor& table, const Tensor& ids, double factor, const Into& y) {
  with_floating(table.dtype(), [&]<class T>(T) {
    const int64_t D = columns_of(table);
    for (int64_t n = 0; n < ids.count(); ++n) {
      const int64_t id = ids.data<int32_t>()[n];
      assert(id >= 0 && id < rows_of(table));
      for (int64_t c = 0; c < D; ++c) {
        put(y.tensor.data<T>()[n * D + c], y.write, factor * table.data<T>()[id * D + c]);
      }
    }
  });
}

void ReferenceBackend::embed_grad(const Tensor& ids, const Tensor& dy, double factor,
                                  const Into& dtable) {
  with_floating(dy.dtype(), [&]<class T>(T) { scatter<T>(ids, dy, factor, dtable); });
}

void ReferenceBackend::add_rows(const Tensor& x_BTD, const Tensor& table, int64_t first_row,
                                double factor, const Into& y) {
  with_floating(x_BTD.dtype(), [&]<class T>(T) {
    const int64_t TD = x_BTD.shape()[-2] * x_BTD.shape()[-1];
    const T* rows = table.data<T>() + first_row * columns_of(table);
    for (int64_t i = 0; i < x_BTD.count(); ++i) {
      put(y.tensor.data<T>()[i], y.write, x_BTD.data<T>()[i] + factor * rows[i % TD]);
    }
  });
}

void ReferenceBackend::add_rows_grad(const Tensor& dy_BTD, int64_t first_row, double factor,
                                     const Into& dtable) {
  with_floating(dy_BTD.dtype(), [&]<class T>(T) {
    const int64_t TD = dy_BTD.shape()[-2] * dy_BTD.shape()[-1];
    const int64_t first = first_row * columns_of(dtable.tensor);
    for (int64_t i = 0; i < dtable.tensor.count(); ++i) {
      const int64_t offset = i - first;
      double sum = 0;
      for (int64_t j = offset; offset >= 0 && offset < TD && j < dy_BTD.count(); j += TD) {
        sum += dy_BTD.data<T>()[j];
      }
      put(dtable.tensor.data<T>()[i], dtable.write, factor * sum);
    }
  });
}

void ReferenceBackend::rotate(const Rotation& how, const HeadRows& x, const HeadRows& y,
                              Write write) {
  with_floating(x.tensor.dtype(), [&]<class T>(T) {
    const int64_t C = columns_of(x.tensor), D = columns_of(y.tensor);
    for (int64_t b = 0; b < sequences_of(x); ++b) {
      for (int64_t t = 0; t < how.rows; ++t) {
        const T* from = x.tensor.data<T>() + (b * x.rows + t) * C + x.first_column;
        T* to = y.tensor.data<T>() + (b * y.rows + t) * D + y.first_column;
        for (int64_t h = 0; h < how.heads; ++h) {
          rotate_vector(how, how.first_row + t, from + h * how.width, to + h * how.width, write);
        }
      }
    }
  });
}

}  // namespace tapemeasure
