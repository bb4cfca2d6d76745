// SPDX-License-Identifier: MIT
#include "core/backends/trace/trace_backend.h"

#include <fmt/format.h>

#include "core/backends/host_memory.h"
#include "core/backends/kernel_support.h"

namespace tapemeasure {

TraceBackend::~TraceBackend() { release_pool(); }
void* TraceBackend::allocate_memory(size_t bytes) { return allocate_host_memory(bytes, name()); }
void TraceBackend::free_memory(void* data, size_t) { free_host_memory(data); }

void TraceBackend::gemm(const Gemm& how, const Tensor& a, const Tensor& b, const Into& c) {
  Timed timed(&trace_, "gemm");
  if (timed) {
    timed.product({.M = rows_of(c.tensor),
                   .N = columns_of(c.tensor),
                   .K = how.transpose_a ? rows_of(a) : columns_of(a),
                   .transpose_a = how.transpose_a,
                   .transpose_b = how.transpose_b,
                   .bias = how.bias.defined(),
                   .add = c.write == Write::kAdd,
                   .scale = how.scale});
  }
  traced_->gemm(how, a, b, c);
}

namespace {
std::string sizes_of(const AttentionShape& shape) {
  return fmt::format("{} sequences, {} heads of {}, {} queries, {} keys", shape.batch, shape.heads,
                     shape.width, shape.queries, shape.keys);
}
}  // namespace

void TraceBackend::attention(const AttentionCall& call, const Tensor& out,
                             const Tensor& log_sum_exp) {
  Timed timed(&trace_, "attention");
  if (timed) timed.detail(sizes_of(call.shape));
  traced_->attention(call, out, log_sum_exp);
}

void TraceBackend::attention_grad(const AttentionCall& call, const Tensor& out,
                                  const Tensor& log_sum_exp, const Tensor& dout,
                                  const AttentionGradients& gradients) {
  Timed timed(&trace_, "attention_grad");
  if (timed) timed.detail(sizes_of(call.shape));
  traced_->attention_grad(call, out, log_sum_exp, dout, gradients);
}

void TraceBackend::fill(const Into& y, double value) {
  const Timed timed(&trace_, "fill");
  traced_->fill(y, value);
}

void TraceBackend::scale(double factor, const Tensor& x, const Into& y) {
  const Timed timed(&trace_, "scale");
  traced_->scale(factor, x, y);
}

void TraceBackend::sum_rows(const Tensor& x, const Into& y) {
  const Timed timed(&trace_, "sum_rows");
  traced_->sum_rows(x, y);
}

void TraceBackend::activation(Activation kind, const Tensor& x, const Into& y) {
  const Timed timed(&trace_, "activation");
  traced_->activation(kind, x, y);
}

void TraceBackend::activation_grad(Activation kind, const Tensor& x, const Tensor& dy,
                                   const Into& dx) {
  const Timed timed(&trace_, "activation_grad");
  traced_->activation_grad(kind, x, dy, dx);
}

void TraceBackend::gated(Activation kind, const Tensor& gate, const Tensor& up, const Into& y) {
  const Timed timed(&trace_, "gated");
  traced_->gated(kind, gate, up, y);
}

void TraceBackend::gated_grad(Activation kind, const Tensor& gate, const Tensor& up,
                              const Tensor& dy, const Into& dgate, const Into& dup) {
  const Timed timed(&trace_, "gated_grad");
  traced_->gated_grad(kind, gate, up, dy, dgate, dup);
}

void TraceBackend::dropout(const Dropout& how, const Tensor& x, const Tensor& residual,
                           const Into& y) {
  const Timed timed(&trace_, "dropout");
  traced_->dropout(how, x, residual, y);
}

void TraceBackend::normalize(Norm kind, double epsilon, const Tensor& x, const Tensor& gain,
                             const Tensor& bias, const Tensor& y, const Tensor& statistics) {
  const Timed timed(&trace_, "normalize");
  traced_->normalize(kind, epsilon, x, gain, bias, y, statistics);
}

void TraceBackend::normalize_grad(Norm kind, const Tensor& x, const Tensor& gain,
                                  const Tensor& statistics, const Tensor& dy, const Into& dx,
                                  const Into& dgain, const Into& dbias) {
  const Timed timed(&trace_, "normalize_grad");
  traced_->normalize_grad(kind, x, gain, statistics, dy, dx, dgain, dbias);
}

void TraceBackend::embed(const Tensor& table, const Tensor& ids, double factor, const Into& y) {
  const Timed timed(&trace_, "embed");
  traced_->embed(table, ids, factor, y);
}

void TraceBackend::embed_grad(const Tensor& ids, const Tensor& dy, double factor,
                              const Into& dtable) {
  const Timed timed(&trace_, "embed_grad");
  traced_->embed_grad(ids, dy, factor, dtable);
}

void TraceBackend::add_rows(const Tensor& x_BTD, const Tensor& table, int64_t first_row,
                            double factor, const Into& y) {
  const Timed timed(&trace_, "add_rows");
  traced_->add_rows(x_BTD, table, first_row, factor, y);
}

void TraceBackend::add_rows_grad(const Tensor& dy_BTD, int64_t first_row, double factor,
                                 const Into& dtable) {
  const Timed timed(&trace_, "add_rows_grad");
  traced_->add_rows_grad(dy_BTD, first_row, factor, dtable);
}

void TraceBackend::rotate(const Rotation& how, const HeadRows& x, const HeadRows& y, Write write) {
  const Timed timed(&trace_, "rotate");
  traced_->rotate(how, x, y, write);
}

void TraceBackend::cross_entropy(const Tensor& logits, const Tensor& targets, double smoothing,
                                 double factor, const Tensor& losses, const Tensor& gradient) {
  const Timed timed(&trace_, "cross_entropy");
  traced_->cross_entropy(logits, targets, smoothing, factor, losses, gradient);
}

double TraceBackend::sum(const Tensor& x) {
  const Timed timed(&trace_, "sum");
  return traced_->sum(x);
}

double TraceBackend::sum_of_squares(const Tensor& x) {
  const Timed timed(&trace_, "sum_of_squares");
  return traced_->sum_of_squares(x);
}

void TraceBackend::sgd(const SgdStep& step, const Tensor& gradient, const Tensor& parameter,
                       const Tensor& buffer) {
  const Timed timed(&trace_, "sgd");
  traced_->sgd(step, gradient, parameter, buffer);
}

void TraceBackend::adamw(const AdamwStep& step, const Tensor& gradient, const Tensor& parameter,
                         const Tensor& first_moment, const Tensor& second_moment) {
  const Timed timed(&trace_, "adamw");
  traced_->adamw(step, gradient, parameter, first_moment, second_moment);
}

void TraceBackend::adafactor(const AdafactorStep& step, const Tensor& gradient,
                             const Tensor& parameter, const Tensor& rows, const Tensor& columns,
                             const Tensor& first_moment) {
  const Timed timed(&trace_, "adafactor");
  traced_->adafactor(step, gradient, parameter, rows, columns, first_moment);
}

}  // namespace tapemeasure
