// SPDX-License-Identifier: MIT
#include "core/backends/cpu/block_gemm.h"

#include <dnnl.h>

#include <cassert>

#ifdef TAPEMEASURE_XSMM
#include <libxsmm.h>
#endif

namespace tapemeasure::cpu {

namespace {

#ifdef TAPEMEASURE_XSMM
/// The generated kernel for a product, which libxsmm keeps per shape; null where it has none.
libxsmm_smmfunction kernel_for(const BlockProduct& how) {
  // libxsmm is column-major, where a row-major matrix reads as its transpose: c^T = b^T op(a)^T.
  const auto lda = static_cast<libxsmm_blasint>(how.b_stride);
  const auto ldb = static_cast<libxsmm_blasint>(how.a_stride);
  const auto ldc = static_cast<libxsmm_blasint>(how.c_stride);
  const float alpha = 1, beta = how.add ? 1 : 0;
  const int flags = how.transpose_a ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
  const int prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  return libxsmm_smmdispatch(
      static_cast<libxsmm_blasint>(how.n), static_cast<libxsmm_blasint>(how.m),
      static_cast<libxsmm_blasint>(how.k), &lda, &ldb, &ldc, &alpha, &beta, &flags, &prefetch);
}
#endif

}  // namespace

void block_gemm(const BlockProduct& how, const float* a, const float* b, float* c) {
  if (how.m == 0 || how.n == 0 || how.k == 0) return;
#ifdef TAPEMEASURE_XSMM
  if (const libxsmm_smmfunction kernel = kernel_for(how)) return kernel(b, a, c);
#endif
  // oneDNN stays on this thread inside a parallel region.
  [[maybe_unused]] const dnnl_status_t status =
      dnnl_sgemm(how.transpose_a ? 'T' : 'N', 'N', how.m, how.n, how.k, 1.0f, a, how.a_stride, b,
                 how.b_stride, how.add ? 1.0f : 0.0f, c, how.c_stride);
  assert(status == dnnl_success);
}

}  // namespace tapemeasure::cpu
