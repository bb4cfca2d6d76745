// SPDX-License-Identifier: MIT
// The fast backend for CPUs, f32: products by oneDNN, everything else by Highway vectors (the
// instruction set is chosen when the program runs) over OpenMP threads. Results of our own loops do
// not depend on the number of threads. Each .cpp of this folder holds the kernels of one topic.
#pragma once

#include <string>

#include "core/backend.h"
#include "core/backends/cpu/onednn.h"

namespace tapemeasure {

class CpuBackend : public Backend {
 public:
  /// `threads` 0: as many as the process may use. `inputs` is what gemm reads.
  explicit CpuBackend(int threads = 0, cpu::ProductInputs inputs = cpu::ProductInputs::kF32);
  ~CpuBackend() override;
  std::string name() const override { return "cpu"; }
  int threads() const { return threads_; }
  /// oneDNN primitives created so far: constant over steady steps.
  int64_t primitives_created() const { return products_.created(); }

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
  /// Working memory of one call.
  Tensor scratch(const Shape& shape, DType dtype = DType::kF32) {
    return empty(*this, shape, dtype);
  }

  int threads_;
  cpu::Products products_;
};

}  // namespace tapemeasure
