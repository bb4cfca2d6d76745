// SPDX-License-Identifier: MIT
// Partial sums of the attention's gradients. The backward's work is cut into units by shape alone:
// (head, group of sequences, group of strips). Each unit adds up its own part in order, and the
// parts are added in the order of the units, so no sum depends on threads.
#pragma once

#include <cstdint>

#include "core/backends/cpu/attention_head.h"

namespace tapemeasure::cpu {

/// Which part of the backward a unit is.
struct BackwardUnit {
  int64_t index = 0, head = 0;
  int64_t first_sequence = 0, last_sequence = 0;  ///< [first, last)
  int64_t group = 0;                              ///< of strips: group, group + groups, ...
};

class GradientSums {
 public:
  GradientSums(Backend& memory, const AttentionPlan& plan, const AttentionGradients& gradients);

  int64_t units() const { return plan_.shape.heads * sequence_groups_ * strip_groups_; }
  int64_t strip_groups() const { return strip_groups_; }
  BackwardUnit unit(int64_t index) const;
  /// Zeroes a unit's parts, those of its keys and values included.
  void clear(const BackwardUnit& unit) const;
  /// Adds up all parts into the gradients; to be called by every thread of a parallel region, after
  /// a barrier.
  void reduce() const;

  /// Where a unit adds the gradients of a sequence's keys (or values): the gradient itself, or a
  /// part of its own if strips are grouped. Null if unwanted.
  struct Rows {
    float* data = nullptr;
    int64_t stride = 0;
  };
  Rows key_rows(const BackwardUnit& unit, int64_t sequence) const {
    return rows(unit, sequence, gradients_.k, key_parts_);
  }
  Rows value_rows(const BackwardUnit& unit, int64_t sequence) const {
    return rows(unit, sequence, gradients_.v, value_parts_);
  }
  /// A unit's part of a gradient; null if unwanted.
  float* query_table(const BackwardUnit& unit) const { return part(query_table_, unit.index); }
  float* key_table(const BackwardUnit& unit) const { return part(key_table_, unit.index); }
  float* value_table(const BackwardUnit& unit) const { return part(value_table_, unit.index); }
  float* content_bias(const BackwardUnit& unit) const { return part(content_bias_, unit.index); }
  float* position_bias(const BackwardUnit& unit) const { return part(position_bias_, unit.index); }
  float* bias(const BackwardUnit& unit) const { return part(bias_, unit.index); }

  const AttentionGradients& gradients() const { return gradients_; }

 private:
  static float* part(const Tensor& parts, int64_t index) {
    return parts.defined() ? parts.data<float>() + index * parts.shape()[1] : nullptr;
  }
  Rows rows(const BackwardUnit& unit, int64_t sequence, const HeadRows& gradient,
            const Tensor& parts) const;
  void clear_keys(const BackwardUnit& unit, const HeadRows& gradient, Write write,
                  const Tensor& parts) const;
  /// Adds the parts of `heads` runs of units into the first of each run.
  void add_parts(const Tensor& parts, int64_t heads) const;
  void add_rows(const Tensor& parts, const HeadRows& gradient, Write write) const;
  void write_table(const Tensor& parts, const OffsetColumns& columns, float factor,
                   const OffsetTable<Tensor>& terms, const Into& gradient) const;
  void write_vectors(const Tensor& parts, const Into& gradient) const;
  void write_bias() const;

  const AttentionPlan& plan_;
  const AttentionGradients& gradients_;
  int64_t sequence_groups_ = 1, strip_groups_ = 1;
  Tensor key_parts_, value_parts_;
  Tensor query_table_, key_table_, value_table_, content_bias_, position_bias_, bias_;
};

}  // namespace tapemeasure::cpu
