// SPDX-License-Identifier: MIT
// The Backend contract: one device, its memory and its kernels. This header is all that a port has
// to meet; `reference` (plain loops, f32 and f64) defines what correct means.
//
// Rules for every kernel:
//  - It never allocates results. It writes where an `Into` says, and either sets the whole of that
//    tensor or adds to it. Inputs and outputs do not overlap unless a comment allows it.
//  - A "matrix" is any tensor seen as rows x columns: the last axis is the columns, all others
//    together are the rows.
//  - Floating tensors of one call share a dtype (f32 or f64), ids and targets are i32. Scalars
//    travel as double.
//  - The result does not depend on thread timing: sums run in an order fixed by the shapes.
//  - Shapes were checked by the op that calls; kernels assert at most.
// Axis letters: B sequences, T queries, S keys, H heads, d head width, D model width, N rows,
// V vocabulary, R rows of a table.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace tapemeasure {

/// Whether a kernel replaces what stands in its output or adds to it.
enum class Write : uint8_t { kSet, kAdd };

/// An output: the tensor and how to write it. Converts from a Tensor (then: set).
struct Into {
  Into() = default;
  Into(Tensor tensor, Write write = Write::kSet) : tensor(std::move(tensor)), write(write) {}
  bool defined() const { return tensor.defined(); }
  Tensor tensor;
  Write write = Write::kSet;
};

/// How `gemm` reads its inputs: c = scale * op(a) op(b) + bias.
struct Gemm {
  bool transpose_a = false;
  bool transpose_b = false;
  double scale = 1;
  Tensor bias = {};  ///< optional, [columns of c]: added to every row
};

enum class Activation : uint8_t { kRelu, kGelu /* exact, erf */, kGeluTanh, kSilu };
enum class Norm : uint8_t { kLayerNorm, kRmsNorm };

/// Which elements a dropout keeps. Element e of sequence s is dropped iff
/// random_word(key, first_sequence + s, e) < rate * 2^32; kept ones are multiplied by 1/(1 - rate).
/// `first_sequence` is the index of the tensor's first sequence in the global batch.
struct Dropout {
  double rate = 0;
  uint64_t key = 0;
  int64_t first_sequence = 0;
  bool active() const { return rate > 0; }
  /// A word below this is a dropped element.
  uint32_t threshold() const { return static_cast<uint32_t>(rate * 4294967296.0); }
};

/// Head vectors lying in a matrix with C columns: the `width` numbers of sequence b, row t, head h
/// begin at element (b * rows + t) * C + first_column + h * width. So queries, keys and values are
/// read where a fused projection wrote them, and keys where a cache keeps them.
struct HeadRows {
  Tensor tensor;
  int64_t rows = 0;  ///< rows per sequence in memory, >= those that are used
  int64_t first_column = 0;
};

/// Sizes of one attention call. Rows have absolute positions: query i sits at first_query + i, key
/// j at first_key + j; the offset of a pair is r = (first_key + j) - (first_query + i).
struct AttentionShape {
  int64_t batch = 0, heads = 0, width = 0, queries = 0, keys = 0;
  int64_t first_query = 0, first_key = 0;
};

/// Which keys a query sees: all conditions that are set must hold. A query that sees none gives 0.
struct AttentionMask {
  bool causal = true;     ///< only r <= 0, or keys of the prefix
  int64_t window = 0;     ///< only |r| < window; 0: no limit
  Tensor key_begin = {};  ///< optional i32 [B]: only keys j >= key_begin[b]
  Tensor key_end = {};    ///< optional i32 [B]: only keys j < key_end[b]
  /// Optional i32 [B, S], equal for keys of one document; a query's is that of the key at its
  /// position. REQUIRES: queries are the last rows of the keys.
  Tensor documents = {};
  /// Optional i32 [B]: being causal hides no key j < prefix[b].
  Tensor prefix = {};
};

/// A map from offsets to rows: row(r) = rows[r - first_offset], i32, defined for every offset of
/// the call. Non-decreasing or non-increasing runs (identity, clipped) are what backends make fast.
struct OffsetMap {
  Tensor rows;
  int64_t first_offset = 0;
};

/// How the rows of a table are laid out for the heads.
enum class TableLayout : uint8_t {
  kShared,     ///< [R, d], one for all heads
  kPerHead,    ///< [H, R, d]
  kProjected,  ///< [R, H * d]
};

/// Vectors by offset; T is Tensor in kernels, Variable in ops.
template <class T>
struct OffsetTable {
  T table;
  TableLayout layout = TableLayout::kShared;
  OffsetMap map;
};

/// The position terms of one attention (docs/design.md, "the attention"); all optional:
///   logit[i,j] = scale * ((q_i + u_h).k_j + (q_i + v_h).Tq_h[a(r)] + k_j.Tk_h[c(r)])
///                + bias_h[b(r)]
///   out[i] = sum_j dropout(softmax_j(logit[i,:])) (value_j + Tv_h[e(r)])
template <class T>
struct AttentionTermsOf {
  double scale = 1;
  T content_bias;              ///< u [H, d]
  T position_bias;             ///< v [H, d]; only with query_table
  OffsetTable<T> query_table;  ///< Tq and a
  OffsetTable<T> key_table;    ///< Tk and c
  OffsetTable<T> value_table;  ///< Tv and e
  T bias;                      ///< [H, R]
  OffsetMap bias_map;          ///< b
};

/// Everything an attention reads.
struct AttentionCall {
  AttentionShape shape;
  HeadRows q, k, v;
  AttentionMask mask;
  AttentionTermsOf<Tensor> terms;
  Dropout dropout;  ///< element (h * 2^24 + position of query) * 2^24 + position of key
};

/// Where the gradients of an attention go; an undefined one is not wanted. dq, dk and dv have the
/// layout of the call's q, k and v; rows or columns outside their heads are left alone.
struct AttentionGradients {
  HeadRows q, k, v;
  Write write_q = Write::kSet, write_k = Write::kSet, write_v = Write::kSet;
  Into content_bias, position_bias, query_table, key_table, value_table, bias;
};

/// One AdamW step, decoupled decay (Loshchilov & Hutter 2019, algorithm 2).
struct AdamwStep {
  double rate, beta1, beta2, epsilon, decay;
  double gradient_scale;  ///< clipping's factor
  int64_t count;          ///< updates so far, this one included
};

/// One SGD step; decay is coupled (g += decay * p first).
struct SgdStep {
  double rate, momentum, decay, gradient_scale;
  bool nesterov;
  bool first;  ///< the buffer starts as the gradient
};

/// One Adafactor step (Shazeer & Stern 2018, algorithms 4 and 5).
struct AdafactorStep {
  double rate;  ///< before scale_parameter
  double beta2, beta1, epsilon, minimum_scale, clip_threshold, decay, gradient_scale;
  bool scale_parameter;
};

class Backend {
 public:
  virtual ~Backend();
  virtual std::string name() const = 0;
  /// True if the device's memory is the host's, so that Tensor::data() may be read.
  virtual bool host_memory() const { return true; }

  // -- Memory: pooled, 64-byte aligned. Throws Error naming the size when there is none.
  std::shared_ptr<Storage> allocate(size_t bytes);
  /// Bytes taken from the system so far, and how often: constant over steady steps.
  size_t pool_bytes() const;
  int64_t pool_requests() const;
  /// Most bytes in use at once since the last call of reset_peak().
  size_t peak_bytes() const;
  void reset_peak();

  // -- Moving and filling.
  virtual void fill(const Into& y, double value) = 0;
  /// y = factor * x; x and y may have different floating dtypes.
  virtual void scale(double factor, const Tensor& x, const Into& y) = 0;

  // -- Matrices.
  virtual void gemm(const Gemm& how, const Tensor& a, const Tensor& b, const Into& c) = 0;
  /// y[c] = sum over rows of x[row, c].
  virtual void sum_rows(const Tensor& x, const Into& y) = 0;

  // -- Element by element.
  virtual void activation(Activation kind, const Tensor& x, const Into& y) = 0;
  virtual void activation_grad(Activation kind, const Tensor& x, const Tensor& dy,
                               const Into& dx) = 0;
  /// y = act(gate) * up (Shazeer 2020, "GLU variants").
  virtual void gated(Activation kind, const Tensor& gate, const Tensor& up, const Into& y) = 0;
  virtual void gated_grad(Activation kind, const Tensor& gate, const Tensor& up, const Tensor& dy,
                          const Into& dgate, const Into& dup) = 0;
  /// y = dropout(x) [+ residual]. x is [sequences, ...]; `residual` may be undefined, or y's
  /// tensor. An inactive dropout keeps all. Its own gradient: call it on dy with the same Dropout.
  virtual void dropout(const Dropout& how, const Tensor& x, const Tensor& residual,
                       const Into& y) = 0;

  // -- Normalisation of rows: LayerNorm (Ba et al. 2016) and RMSNorm (Zhang & Sennrich 2019).
  /// y = (x - mean) / sqrt(var + epsilon) * gain + bias; `bias` is undefined for RMSNorm, which has
  /// no mean. `statistics` [N, 2] receives mean and 1/deviation of each row.
  virtual void normalize(Norm kind, double epsilon, const Tensor& x, const Tensor& gain,
                         const Tensor& bias, const Tensor& y, const Tensor& statistics) = 0;
  /// Any of dx, dgain, dbias may be undefined.
  virtual void normalize_grad(Norm kind, const Tensor& x, const Tensor& gain,
                              const Tensor& statistics, const Tensor& dy, const Into& dx,
                              const Into& dgain, const Into& dbias) = 0;

  // -- Tables.
  /// y[n] = factor * table[ids[n]].
  virtual void embed(const Tensor& table, const Tensor& ids, double factor, const Into& y) = 0;
  /// dtable[id] = factor * sum of dy[n] with ids[n] = id, in order of n.
  virtual void embed_grad(const Tensor& ids, const Tensor& dy, double factor,
                          const Into& dtable) = 0;
  /// y[b,t] = x[b,t] + factor * table[first_row + t].
  virtual void add_rows(const Tensor& x_BTD, const Tensor& table, int64_t first_row, double factor,
                        const Into& y) = 0;
  /// dtable[first_row + t] = factor * sum over b of dy[b,t]; other rows are 0 under kSet.
  virtual void add_rows_grad(const Tensor& dy_BTD, int64_t first_row, double factor,
                             const Into& dtable) = 0;
  /// Rotary positions (Su et al. 2021) on whole head vectors [N rows, heads, d]: channels pair up
  /// as (2f, 2f+1) if `interleaved`, else (f, f + n/2) of the first n = 2 * columns(cosine)
  /// channels; the rest is copied. Row n uses table row first_row + n % rows. `inverse` rotates
  /// back. Sequences are as many as x.rows fit in x's tensor, rounded up. y may lie on x under
  /// kSet.
  struct Rotation {
    Tensor cosine, sine;  ///< [positions, n/2]
    int64_t first_row = 0, rows = 0, heads = 0, width = 0;
    bool interleaved = false, inverse = false;
  };
  virtual void rotate(const Rotation& how, const HeadRows& x, const HeadRows& y, Write write) = 0;

  // -- Attention and the loss.
  /// out [B * T, H * d] is set; log_sum_exp [B, H, T] is set (of the logits, before dropout).
  virtual void attention(const AttentionCall& call, const Tensor& out,
                         const Tensor& log_sum_exp) = 0;
  virtual void attention_grad(const AttentionCall& call, const Tensor& out,
                              const Tensor& log_sum_exp, const Tensor& dout,
                              const AttentionGradients& gradients) = 0;
  /// Per row of logits [N, V]: losses[n] = log-sum-exp - logits[target], or, with smoothing e,
  /// (1-e) of that + e * its mean over all V; 0 where targets[n] < 0. If `gradient` is defined (it
  /// may be `logits` itself), gradient = factor * d losses / d logits.
  virtual void cross_entropy(const Tensor& logits, const Tensor& targets, double smoothing,
                             double factor, const Tensor& losses, const Tensor& gradient) = 0;

  // -- Sums, in double, in a fixed order.
  virtual double sum(const Tensor& x) = 0;
  virtual double sum_of_squares(const Tensor& x) = 0;

  // -- Updates, in place.
  virtual void sgd(const SgdStep& step, const Tensor& gradient, const Tensor& parameter,
                   const Tensor& buffer) = 0;
  virtual void adamw(const AdamwStep& step, const Tensor& gradient, const Tensor& parameter,
                     const Tensor& first_moment, const Tensor& second_moment) = 0;
  /// Matrices (two axes or more, seen as a matrix) keep `rows` [N] and `columns` [M]; vectors keep
  /// `rows` alone, of their own shape. `first_moment` is undefined when beta1 < 0.
  virtual void adafactor(const AdafactorStep& step, const Tensor& gradient, const Tensor& parameter,
                         const Tensor& rows, const Tensor& columns, const Tensor& first_moment) = 0;

 protected:
  Backend();
  /// System memory of the device. Throws Error.
  virtual void* allocate_memory(size_t bytes) = 0;
  virtual void free_memory(void* data, size_t bytes) = 0;
  /// To be called by each destructor that ends a class with memory of its own.
  void release_pool();

 private:
  friend class Storage;
  void give_back(void* data, size_t bytes);
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

/// Cores that this process may use: its affinity, limited by the cgroup's quota.
int default_threads();

/// "reference", "cpu" or "check:cpu" (runs both and throws where they differ). `threads` 0 asks the
/// machine. Throws ConfigError on another name.
std::unique_ptr<Backend> make_backend(const std::string& name, int threads = 0);

/// What `cpu` runs on, for a run's records: instruction set, threads that `threads` 0 stands for,
/// version of oneDNN.
std::string describe_machine();

}  // namespace tapemeasure
