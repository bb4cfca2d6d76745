// SPDX-License-Identifier: MIT
// Matrix products by oneDNN (2.6 or 3). The only file pair that knows the library.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/backend.h"

namespace tapemeasure::cpu {

/// What the library reads: f32 as it is, or each number rounded to bf16 first. It sums in f32.
enum class ProductInputs : uint8_t { kF32, kBF16 };

/// Whether this processor and library multiply bf16 themselves (AVX512-BF16, AMX). Elsewhere
/// rounded numbers are multiplied as f32: the same inputs, and slower than f32.
bool multiplies_bf16();

/// Products of one backend. A primitive is prepared once per shape and form, and held: creating one
/// costs milliseconds and dozens of allocations, running it none.
class Products {
 public:
  /// Scratch comes from `backend`'s pool. REQUIRES: backend outlives this.
  Products(Backend& backend, int threads, ProductInputs inputs);
  ~Products();
  /// Backend::gemm for f32.
  void gemm(const Gemm& how, const Tensor& a, const Tensor& b, const Into& c);
  /// Primitives created so far: constant over steady steps.
  int64_t created() const;
  /// The linked library's version, "2.6.3".
  static std::string version();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tapemeasure::cpu
