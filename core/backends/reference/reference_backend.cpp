// SPDX-License-Identifier: MIT
#include "core/backends/reference/reference_backend.h"

#include "core/backends/host_memory.h"
#include "core/backends/reference/attention.h"

namespace tapemeasure {

ReferenceBackend::~ReferenceBackend() { release_pool(); }

void* ReferenceBackend::allocate_memory(size_t bytes) {
  return allocate_host_memory(bytes, name());
}

void ReferenceBackend::free_memory(void* data, size_t) { free_host_memory(data); }

void ReferenceBackend::attention(const AttentionCall& call, const Tensor& out,
                                 const Tensor& log_sum_exp) {
  reference::attention(call, out, log_sum_exp);
}

void ReferenceBackend::attention_grad(const AttentionCall& call, const Tensor& out,
                                      const Tensor& log_sum_exp, const Tensor& dout,
                                      const AttentionGradients& gradients) {
  reference::attention_grad(call, out, log_sum_exp, dout, gradients);
}

}  // namespace tapemeasure
