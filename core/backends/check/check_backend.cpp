// SPDX-License-Identifier: MIT
// Every kernel but attention and the updates. Each says what bound it is held to, and the size of
// its terms where they may cancel: for sums that is the same sum over absolute values.
#include "core/backends/check/check_backend.h"

#include <algorithm>
#include <cmath>

#include "core/backends/check/comparison.h"
#include "core/backends/host_memory.h"
#include "core/backends/kernel_support.h"

namespace tapemeasure {

using check_backend::absolute;
using check_backend::Comparison;
using check_backend::largest;

namespace {

/// f32 against a rounded double: one operation, a chain of them, a sum of many.
constexpr double kOnce = 1e-6, kChain = 1e-5, kSum = 1e-5;

void compare_sums(const char* kernel, double got, double wanted, double magnitude) {
  check<Error>(std::abs(got - wanted) <= 1e-10 * magnitude || std::isnan(wanted),
               "check: {} differs: {:.17g}, reference says {:.17g}", kernel, got, wanted);
}

/// z = (x - mean) r and its row's r.
template <class T>
struct Standardised {
  const T *x, *statistics;
  int64_t width;
  double r(int64_t i) const { return statistics[2 * (i / width) + 1]; }
  double z(int64_t i) const { return (x[i] - statistics[2 * (i / width)]) * r(i); }
};

struct NormMagnitudes {
  double dx = 0, dgain = 0, dbias = 0;
};

/// Largest sums of |terms| of each gradient.
NormMagnitudes magnitudes(const Tensor& x, const Tensor& gain, const Tensor& statistics,
                          const Tensor& dy) {
  NormMagnitudes most;
  with_floating(x.dtype(), [&]<class T>(T) {
    const int64_t width = columns_of(x);
    const Standardised<T> s{x.data<T>(), statistics.data<T>(), width};
    for (int64_t c = 0; c < width; ++c) {
      double dgain = 0, dbias = 0;
      for (int64_t i = c; i < x.count(); i += width) {
        const double d = std::abs(dy.data<T>()[i]), z = std::abs(s.z(i));
        dgain += d * z;
        dbias += d;
        most.dx = std::max(most.dx, s.r(i) * d * std::abs(gain.data<T>()[c]) * (1 + z * z));
      }
      most.dgain = std::max(most.dgain, dgain);
      most.dbias = std::max(most.dbias, dbias);
    }
  });
  return most;
}

}  // namespace

CheckBackend::~CheckBackend() { release_pool(); }
void* CheckBackend::allocate_memory(size_t bytes) { return allocate_host_memory(bytes, name()); }
void CheckBackend::free_memory(void* data, size_t) { free_host_memory(data); }

void CheckBackend::fill(const Into& y, double value) {
  if (y.tensor.dtype() == DType::kI32) return checked_->fill(y, value);
  Comparison comparison("fill", kOnce);
  const Into again = comparison.copy(y);
  checked_->fill(y, value);
  reference_.fill(again, value);
  comparison.finish();
}

void CheckBackend::scale(double factor, const Tensor& x, const Into& y) {
  Comparison comparison("scale", kOnce);
  const Into again = comparison.copy(y);
  checked_->scale(factor, x, y);
  reference_.scale(factor, x, again);
  comparison.finish();
}

void CheckBackend::gemm(const Gemm& how, const Tensor& a, const Tensor& b, const Into& c) {
  const Tensor terms = empty_like(c.tensor);
  reference_.gemm({how.transpose_a, how.transpose_b, std::abs(how.scale), absolute(how.bias)},
                  absolute(a), absolute(b), terms);
  Comparison comparison("gemm", kSum);
  const Into again = comparison.copy(c, largest(terms));
  checked_->gemm(how, a, b, c);
  reference_.gemm(how, a, b, again);
  comparison.finish();
}

void CheckBackend::sum_rows(const Tensor& x, const Into& y) {
  const Tensor terms = empty_like(y.tensor);
  reference_.sum_rows(absolute(x), terms);
  Comparison comparison("sum_rows", kSum);
  const Into again = comparison.copy(y, largest(terms));
  checked_->sum_rows(x, y);
  reference_.sum_rows(x, again);
  comparison.finish();
}

void CheckBackend::activation(Activation kind, const Tensor& x, const Into& y) {
  Comparison comparison("activation", kChain);
  const Into again = comparison.copy(y);
  checked_->activation(kind, x, y);
  reference_.activation(kind, x, again);
  comparison.finish();
}

void CheckBackend::activation_grad(Activation kind, const Tensor& x, const Tensor& dy,
                                   const Into& dx) {
  Comparison comparison("activation_grad", kChain);
  const Into again = comparison.copy(dx, largest(dy));
  checked_->activation_grad(kind, x, dy, dx);
  reference_.activation_grad(kind, x, dy, again);
  comparison.finish();
}

void CheckBackend::gated(Activation kind, const Tensor& gate, const Tensor& up, const Into& y) {
  Comparison comparison("gated", kChain);
  const Into again = comparison.copy(y, largest(up));
  checked_->gated(kind, gate, up, y);
  reference_.gated(kind, gate, up, again);
  comparison.finish();
}

void CheckBackend::gated_grad(Activation kind, const Tensor& gate, const Tensor& up,
                              const Tensor& dy, const Into& dgate, const Into& dup) {
  Comparison comparison("gated_grad", kChain);
  const Into gate_again = comparison.copy(dgate, largest(up) * largest(dy));
  const Into up_again = comparison.copy(dup, largest(dy));
  checked_->gated_grad(kind, gate, up, dy, dgate, dup);
  reference_.gated_grad(kind, gate, up, dy, gate_again, up_again);
  comparison.finish();
}

void CheckBackend::dropout(const Dropout& how, const Tensor& x, const Tensor& residual,
                           const Into& y) {
  Comparison comparison("dropout", kOnce);
  const Into again = comparison.copy(y, largest(x) + largest(residual));
  const bool on_y = residual.defined() && residual.raw() == y.tensor.raw();
  checked_->dropout(how, x, residual, y);
  reference_.dropout(how, x, on_y ? again.tensor : residual, again);
  comparison.finish();
}

void CheckBackend::normalize(Norm kind, double epsilon, const Tensor& x, const Tensor& gain,
                             const Tensor& bias, const Tensor& y, const Tensor& statistics) {
  Comparison comparison("normalize", kChain);
  const Tensor y_again = comparison.copy(y), statistics_again = comparison.copy(statistics);
  checked_->normalize(kind, epsilon, x, gain, bias, y, statistics);
  reference_.normalize(kind, epsilon, x, gain, bias, y_again, statistics_again);
  comparison.finish();
}

void CheckBackend::normalize_grad(Norm kind, const Tensor& x, const Tensor& gain,
                                  const Tensor& statistics, const Tensor& dy, const Into& dx,
                                  const Into& dgain, const Into& dbias) {
  const NormMagnitudes most = magnitudes(x, gain, statistics, dy);
  Comparison comparison("normalize_grad", kSum);
  const Into dx_again = comparison.copy(dx, most.dx);
  const Into dgain_again = comparison.copy(dgain, most.dgain);
  const Into dbias_again = comparison.copy(dbias, most.dbias);
  checked_->normalize_grad(kind, x, gain, statistics, dy, dx, dgain, dbias);
  reference_.normalize_grad(kind, x, gain, statistics, dy, dx_again, dgain_again, dbias_again);
  comparison.finish();
}

void CheckBackend::embed(const Tensor& table, const Tensor& ids, double factor, const Into& y) {
  Comparison comparison("embed", kOnce);
  const Into again = comparison.copy(y);
  checked_->embed(table, ids, factor, y);
  reference_.embed(table, ids, factor, again);
  comparison.finish();
}

void CheckBackend::embed_grad(const Tensor& ids, const Tensor& dy, double factor,
                              const Into& dtable) {
  const Tensor terms = empty_like(dtable.tensor);
  reference_.embed_grad(ids, absolute(dy), std::abs(factor), terms);
  Comparison comparison("embed_grad", kSum);
  const Into again = comparison.copy(dtable, largest(terms));
  checked_->embed_grad(ids, dy, factor, dtable);
  reference_.embed_grad(ids, dy, factor, again);
  comparison.finish();
}

void CheckBackend::add_rows(const Tensor& x_BTD, const Tensor& table, int64_t first_row,
                            double factor, const Into& y) {
  Comparison comparison("add_rows", kOnce);
  const Into again = comparison.copy(y, largest(x_BTD));
  checked_->add_rows(x_BTD, table, first_row, factor, y);
  reference_.add_rows(x_BTD, table, first_row, factor, again);
  comparison.finish();
}

void CheckBackend::add_rows_grad(const Tensor& dy_BTD, int64_t first_row, double factor,
                                 const Into& dtable) {
  const Tensor terms = empty_like(dtable.tensor);
  reference_.add_rows_grad(absolute(dy_BTD), first_row, std::abs(factor), terms);
  Comparison comparison("add_rows_grad", kSum);
  const Into again = comparison.copy(dtable, largest(terms));
  checked_->add_rows_grad(dy_BTD, first_row, factor, dtable);
  reference_.add_rows_grad(dy_BTD, first_row, factor, again);
  comparison.finish();
}

void CheckBackend::rotate(const Rotation& how, const HeadRows& x, const HeadRows& y, Write write) {
  Comparison comparison("rotate", kOnce);
  HeadRows y_again = y, x_again = x;
  y_again.tensor = comparison.copy(y.tensor, largest(x.tensor));
  if (x.tensor.raw() == y.tensor.raw()) x_again.tensor = y_again.tensor;
  checked_->rotate(how, x, y, write);
  reference_.rotate(how, x_again, y_again, write);
  comparison.finish();
}

void CheckBackend::cross_entropy(const Tensor& logits, const Tensor& targets, double smoothing,
                                 double factor, const Tensor& losses, const Tensor& gradient) {
  Comparison comparison("cross_entropy", kChain);
  // A sure prediction's loss is the rounding of a sum near 1.
  const Tensor losses_again = comparison.copy(losses, 1);
  const Tensor gradient_again = comparison.copy(gradient, std::abs(factor));
  const bool in_place = gradient.defined() && gradient.raw() == logits.raw();
  const Tensor logits_again = in_place ? gradient_again : logits;
  checked_->cross_entropy(logits, targets, smoothing, factor, losses, gradient);
  reference_.cross_entropy(logits_again, targets, smoothing, factor, losses_again, gradient_again);
  comparison.finish();
}

double CheckBackend::sum(const Tensor& x) {
  const double got = checked_->sum(x);
  compare_sums("sum", got, reference_.sum(x), reference_.sum(absolute(x)));
  return got;
}

double CheckBackend::sum_of_squares(const Tensor& x) {
  const double got = checked_->sum_of_squares(x), wanted = reference_.sum_of_squares(x);
  compare_sums("sum_of_squares", got, wanted, wanted);
  return got;
}

}  // namespace tapemeasure
