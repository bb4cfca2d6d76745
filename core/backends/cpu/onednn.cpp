// SPDX-License-Identifier: MIT
#include "core/backends/cpu/onednn.h"

#include <omp.h>

#include <bit>
#include <dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "core/backends/cpu/bf16.h"
#include "core/backends/cpu/f32.h"
#include "core/backends/kernel_support.h"
#include "core/random.h"

namespace tapemeasure::cpu {

namespace {

using dnnl::memory;

/// What one primitive is made for.
struct Form {
  int64_t M, N, K;
  bool transpose_a, transpose_b, bias, add;
  float scale;
  memory::data_type inputs;
  bool operator==(const Form&) const = default;
};

struct FormHash {
  size_t operator()(const Form& form) const {
    uint64_t hash = std::bit_cast<uint32_t>(form.scale) * 16 + static_cast<uint64_t>(form.inputs);
    hash = hash * 16 + form.transpose_a + 2 * form.transpose_b + 4 * form.bias + 8 * form.add;
    for (const int64_t size : {form.M, form.N, form.K}) {
      hash = mix(hash ^ static_cast<uint64_t>(size));
    }
    return hash;
  }
};

/// A row-major matrix, or the transpose of one.
memory::desc matrix(int64_t rows, int64_t columns, bool transposed = false,
                    memory::data_type type = memory::data_type::f32) {
  const memory::dims strides = transposed ? memory::dims{1, rows} : memory::dims{columns, 1};
  return memory::desc({rows, columns}, type, strides);
}

void append_scale(dnnl::post_ops& steps, float scale) {
#if DNNL_VERSION_MAJOR >= 3
  steps.append_eltwise(dnnl::algorithm::eltwise_linear, scale, 0.f);
#else
  steps.append_eltwise(1.f, dnnl::algorithm::eltwise_linear, scale, 0.f);
#endif
}

/// A prepared product: the primitive and its argument list, whose handles are set for each call.
class Prepared {
 public:
  Prepared(const Form& form, const dnnl::engine& engine) {
    const memory::desc a = matrix(form.M, form.K, form.transpose_a, form.inputs);
    const memory::desc b = matrix(form.K, form.N, form.transpose_b, form.inputs);
    const memory::desc c = matrix(form.M, form.N), bias = matrix(1, form.N);
    const bool fused_bias = form.bias && form.scale == 1;
    const dnnl::primitive_attr attributes = attributes_of(form);
#if DNNL_VERSION_MAJOR >= 3
    const auto description = fused_bias
                                 ? dnnl::matmul::primitive_desc(engine, a, b, bias, c, attributes)
                                 : dnnl::matmul::primitive_desc(engine, a, b, c, attributes);
#else
    const auto operation =
        fused_bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
    const dnnl::matmul::primitive_desc description(operation, attributes, engine);
#endif
    product_ = dnnl::matmul(description);
    scratch_bytes_ = description.scratchpad_desc().get_size();
    const int bias_step = form.add ? 2 : 1;
    add_argument(DNNL_ARG_SRC, a, engine);
    add_argument(DNNL_ARG_WEIGHTS, b, engine);
    add_argument(DNNL_ARG_DST, c, engine);
    add_argument(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc(), engine);
    if (form.bias) {
      add_argument(
          fused_bias ? DNNL_ARG_BIAS : DNNL_ARG_ATTR_MULTIPLE_POST_OP(bias_step) | DNNL_ARG_SRC_1,
          bias, engine);
    }
  }

  size_t scratch_bytes() const { return scratch_bytes_; }

  /// `handles` in the order of the arguments above.
  void run(const dnnl::stream& stream, std::initializer_list<void*> handles) {
    size_t i = 0;
    for (void* handle : handles) {
      if (i < memories_.size()) memories_[i++].set_data_handle(handle);
    }
    // The C call, because the C++ one builds a map and a vector.
    const dnnl_status_t status = dnnl_primitive_execute(
        product_.get(), stream.get(), static_cast<int>(arguments_.size()), arguments_.data());
    check<Error>(status == dnnl_success, "oneDNN: matmul failed with status {}",
                 static_cast<int>(status));
  }

 private:
  /// c = scale a b + c + bias. The sum goes first, as c / scale, because the library's portable
  /// implementations fuse it only there and fall back to a plain loop otherwise.
  static dnnl::primitive_attr attributes_of(const Form& form) {
    dnnl::post_ops steps;
    if (form.add) steps.append_sum(1 / form.scale);
    if (form.scale != 1) {
      append_scale(steps, form.scale);
      if (form.bias) steps.append_binary(dnnl::algorithm::binary_add, matrix(1, form.N));
    }
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attributes.set_post_ops(steps);
    return attributes;
  }

  void add_argument(int name, const memory::desc& description, const dnnl::engine& engine) {
    memories_.emplace_back(description, engine, static_cast<void*>(nullptr));
    arguments_.push_back({name, memories_.back().get()});
  }

  dnnl::matmul product_;
  size_t scratch_bytes_ = 0;
  std::vector<memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// c = bias, or c += bias: what is left of a product without terms.
void write_bias(const float* bias, const Into& c) {
  const int64_t N = columns_of(c.tensor), count = c.tensor.count();
  float* y = f32(c.tensor);
  for (int64_t i = 0; i < count; ++i) put(y[i], c.write, bias != nullptr ? bias[i % N] : 0);
}

/// The numbers of x as the library is to read them, in memory of `backend` that goes with this.
struct Rounded {
  Rounded(Backend& backend, int threads, memory::data_type type, const Tensor& x) {
    const int64_t count = x.count();
    const bool half = type == memory::data_type::bf16;
    storage = backend.allocate(static_cast<size_t>(count) * (half ? 2 : sizeof(float)));
    if (half) {
      to_bf16(threads, f32(x), count, reinterpret_cast<uint16_t*>(storage->data()));
    } else {
      round_to_bf16(threads, f32(x), count, reinterpret_cast<float*>(storage->data()));
    }
  }
  std::shared_ptr<Storage> storage;
};

}  // namespace

bool multiplies_bf16() {
  static const bool does = [] {
    if (!__builtin_cpu_supports("avx512bf16")) return false;
    const Form form{.M = 64,
                    .N = 64,
                    .K = 64,
                    .transpose_a = true,
                    .transpose_b = false,
                    .bias = true,
                    .add = true,
                    .scale = 1,
                    .inputs = memory::data_type::bf16};
    try {
      const Prepared trial(form, dnnl::engine(dnnl::engine::kind::cpu, 0));
      return true;
    } catch (const dnnl::error&) {
      return false;  // the library was built, or told, to use less than the processor has
    }
  }();
  return does;
}

struct Products::Impl {
  Backend& backend;
  int threads;
  ProductInputs inputs;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::unordered_map<Form, Prepared, FormHash> prepared = {};
  int64_t created = 0;
};

Products::Products(Backend& backend, int threads, ProductInputs inputs)
    : impl_(std::make_unique<Impl>(backend, threads, inputs)) {}
Products::~Products() = default;

void Products::gemm(const Gemm& how, const Tensor& a, const Tensor& b, const Into& c) {
  const Form form{.M = rows_of(c.tensor),
                  .N = columns_of(c.tensor),
                  .K = how.transpose_a ? rows_of(a) : columns_of(a),
                  .transpose_a = how.transpose_a,
                  .transpose_b = how.transpose_b,
                  .bias = how.bias.defined(),
                  .add = c.write == Write::kAdd,
                  .scale = static_cast<float>(how.scale),
                  .inputs = impl_->inputs == ProductInputs::kBF16 && multiplies_bf16()
                                ? memory::data_type::bf16
                                : memory::data_type::f32};
  float *to = f32(c.tensor), *bias = f32_or_null(how.bias);
  if (form.M == 0 || form.N == 0) return;
  if (form.K == 0 || form.scale == 0) return write_bias(bias, c);
  // The library asks OpenMP, when it prepares and when it runs; the setting is the calling
  // thread's.
  omp_set_num_threads(impl_->threads);
  auto found = impl_->prepared.find(form);
  if (found == impl_->prepared.end()) {
    found = impl_->prepared.try_emplace(form, form, impl_->engine).first;
    ++impl_->created;
  }
  Prepared& product = found->second;
  const auto scratch = impl_->backend.allocate(product.scratch_bytes());
  if (impl_->inputs == ProductInputs::kF32) {
    return product.run(impl_->stream, {f32(a), f32(b), to, scratch->data(), bias});
  }
  const Rounded from_a(impl_->backend, impl_->threads, form.inputs, a);
  const Rounded from_b(impl_->backend, impl_->threads, form.inputs, b);
  product.run(impl_->stream,
              {from_a.storage->data(), from_b.storage->data(), to, scratch->data(), bias});
}

int64_t Products::created() const { return impl_->created; }

std::string Products::version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace tapemeasure::cpu
