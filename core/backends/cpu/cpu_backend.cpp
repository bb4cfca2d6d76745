// SPDX-License-Identifier: MIT
#include "core/backends/cpu/cpu_backend.h"

#include <hwy/highway.h>
#include <omp.h>

#include "core/backends/cpu/attention.h"
#include "core/backends/cpu/threads.h"
#include "core/backends/host_memory.h"

namespace tapemeasure {

CpuBackend::CpuBackend(int threads, cpu::ProductInputs inputs)
    : threads_(threads > 0 ? threads : cpu::default_threads()),
      products_(*this, threads_, inputs) {}

CpuBackend::~CpuBackend() { release_pool(); }

void* CpuBackend::allocate_memory(size_t bytes) { return allocate_host_memory(bytes, name()); }
void CpuBackend::free_memory(void* data, size_t) { free_host_memory(data); }

void CpuBackend::gemm(const Gemm& how, const Tensor& a, const Tensor& b, const Into& c) {
  products_.gemm(how, a, b, c);
}

void CpuBackend::attention(const AttentionCall& call, const Tensor& out,
                           const Tensor& log_sum_exp) {
  omp_set_num_threads(threads_);
  cpu::attention(*this, call, out, log_sum_exp);
}

void CpuBackend::attention_grad(const AttentionCall& call, const Tensor& out,
                                const Tensor& log_sum_exp, const Tensor& dout,
                                const AttentionGradients& gradients) {
  omp_set_num_threads(threads_);
  cpu::attention_grad(*this, call, out, log_sum_exp, dout, gradients);
}

}  // namespace tapemeasure
