// SPDX-License-Identifier: MIT
// A backend that runs another's kernels and tells a Trace when each began and ended, with the sizes
// of products and attentions.
#pragma once

#include <memory>
#include <string>

#include "core/backend.h"
#include "core/trace.h"

namespace tapemeasure {

class TraceBackend final : public Backend {
 public:
  /// `trace` must outlive it.
  TraceBackend(std::unique_ptr<Backend> traced, Trace& trace)
      : traced_(std::move(traced)), trace_(trace) {}
  ~TraceBackend() override;
  std::string name() const override { return traced_->name(); }

  void fill(const Into& y, double value) override;
  void scale(double factor, const Tensor& x, const Into& y) override;
  void gemm(const Gemm& how, const Tensor& a, const Tensor& b, const Into& c) override;
  void sum_rows(const Tensor& x, const Into& y) override;
  void activation(Activation kind, const Tensor& x, const Into& y) override;
  void activation_grad(Activation kind, const Tensor& x, const Tensor& dy, const Into& dx) override;
  void gated(Activation kind, const Tensor& gate, const Tensor& up, const Into& y) override;
  void gated_grad(Activation kind, const Tensor& gate, const Tensor& up, const Tensor& dy,
                  const Into& dgate, const Into& dup) override;
  void dropout(const Dropout& how, const Tensor& x, const Tensor& residual, const Into& y) override;
  void normalize(Norm kind, double epsilon, const Tensor& x, const Tensor& gain, const Tensor& bias,
                 const Tensor& y, const Tensor& statistics) override;
  void normalize_grad(Norm kind, const Tensor& x, const Tensor& gain, const Tensor& statistics,
                      const Tensor& dy, const Into& dx, const Into& dgain,
                      const Into& dbias) override;
  void embed(const Tensor& table, const Tensor& ids, double factor, const Into& y) override;
  void embed_grad(const Tensor& ids, const Tensor& dy, double factor, const Into& dtable) override;
  void add_rows(const Tensor& x_BTD, const Tensor& table, int64_t first_row, double factor,
                const Into& y) override;
  void add_rows_grad(const Tensor& dy_BTD, int64_t first_row, double factor,
                     const Into& dtable) override;
  void rotate(const Rotation& how, const HeadRows& x, const HeadRows& y, Write write) override;
  void attention(const AttentionCall& call, const Tensor& out, const Tensor& log_sum_exp) override;
  void attention_grad(const AttentionCall& call, const Tensor& out, const Tensor& log_sum_exp,
                      const Tensor& dout, const AttentionGradients& gradients) override;
  void cross_entropy(const Tensor& logits, const Tensor& targets, double smoothing, double factor,
                     const Tensor& losses, const Tensor& gradient) override;
  double sum(const Tensor& x) override;
  double sum_of_squares(const Tensor& x) override;
  void sgd(const SgdStep& step, const Tensor& gradient, const Tensor& parameter,
           const Tensor& buffer) override;
  void adamw(const AdamwStep& step, const Tensor& gradient, const Tensor& parameter,
             const Tensor& first_moment, const Tensor& second_moment) override;
  void adafactor(const AdafactorStep& step, const Tensor& gradient, const Tensor& parameter,
                 const Tensor& rows, const Tensor& columns, const Tensor& first_moment) override;

 protected:
  void* allocate_memory(size_t bytes) override;
  void free_memory(void* data, size_t bytes) override;

 private:
  std::unique_ptr<Backend> traced_;
  Trace& trace_;
};

}  // namespace tapemeasure
