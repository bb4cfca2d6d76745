// SPDX-License-Identifier: MIT
// Random attention problems for tests: one description, built in either dtype, run by any backend.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/backend.h"

namespace tapemeasure::test {

enum class MapKind {
  kDistance,   // Transformer-XL: a row per offset, falling
  kAscending,  // a row per offset, rising
  kClipped,    // Shaw: clamp(r, -size, size) + size
  kDeberta,    // clamp(size - r, 0, 2 size - 1)
  kBuckets,    // exact near 0, coarser further away
  kScattered,  // no order at all
};

struct AttentionCase {
  std::string name;
  AttentionShape shape;
  std::string terms;  // any of u v q k e b; e is the table of values
  MapKind map = MapKind::kClipped;
  int64_t size = 3;
  TableLayout layout = TableLayout::kShared;
  bool causal = true;
  int64_t window = 0;
  std::vector<int32_t> key_begin = {}, key_end = {}, documents = {}, prefix = {};
  double dropout = 0;
  bool packed = false;  // q, k and v in one matrix, wider than the three
  Write write = Write::kSet;
};

/// What GoogleTest prints for a case.
inline void PrintTo(const AttentionCase& given, std::ostream* to) { *to << given.name; }

using Named = std::pair<std::string, std::vector<double>>;

/// A case with its numbers. Inputs are f32 numbers in both dtypes.
class AttentionProblem {
 public:
  AttentionProblem(Backend& backend, DType dtype, const AttentionCase& given);

  /// Fills out and log_sum_exp.
  void forward() { backend_.attention(call, out, log_sum_exp); }
  /// Runs both and returns out, log_sum_exp and all gradients by name.
  std::vector<Named> run();
  /// sum of out * dout.
  double loss() const;
  /// The inputs that have gradients, under the names of `run`.
  std::vector<std::pair<std::string, Tensor>> inputs() const;

  AttentionCall call;
  Tensor out, log_sum_exp, dout;

 private:
  Tensor random(const Shape& shape, double deviation);
  OffsetMap map(MapKind kind, int64_t size, int64_t& rows) const;
  void add_terms(const AttentionCase& given);
  Tensor integers(const std::vector<int32_t>& values, const Shape& shape) const;

  Backend& backend_;
  DType dtype_;
  Write write_;
  uint64_t drawn_ = 0;
};

void set(const Tensor& tensor, int64_t index, double value);
double get(const Tensor& tensor, int64_t index);
std::vector<double> values(const Tensor& tensor);

}  // namespace tapemeasure::test
