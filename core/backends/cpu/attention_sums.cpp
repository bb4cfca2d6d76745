// SPDX-License-Identifier: MIT
#include "core/backends/cpu/attention_sums.h"

#include "core/backends/cpu/block_loops.h"

namespace tapemeasure::cpu {

namespace {
/// Units that a call should have, so that threads find work; fewer when there is less to share.
constexpr int64_t kFewUnits = 16, kManyUnits = 64;
/// Parts of keys and values cost as much as this many strips add to them.
constexpr int64_t kStripsPerGroup = 16;
}  // namespace

GradientSums::GradientSums(Backend& memory, const AttentionPlan& plan,
                           const AttentionGradients& gradients)
    : plan_(plan), gradients_(gradients) {
  const AttentionShape& s = plan.shape;
  const int64_t heads = std::max<int64_t>(1, s.batch * s.heads);
  const auto share = [&](int64_t units, int64_t among) { return (units + among - 1) / among; };
  sequence_groups_ = std::clamp<int64_t>(share(kManyUnits, std::max<int64_t>(1, s.heads)), 1,
                                         std::max<int64_t>(1, s.batch));
  strip_groups_ = std::max(share(kFewUnits, heads),
                           std::min(plan.strips / kStripsPerGroup, share(kManyUnits, heads)));
  strip_groups_ = std::clamp<int64_t>(strip_groups_, 1, std::max<int64_t>(1, plan.strips));

  const auto parts = [&](bool wanted, int64_t count) {
    return wanted ? empty(memory, {units(), count}, DType::kF32) : Tensor();
  };
  const AttentionTermsOf<Tensor>& terms = plan.call.terms;
  const bool grouped = strip_groups_ > 1;
  key_parts_ = parts(grouped && gradients.k.tensor.defined(), s.keys * s.width);
  value_parts_ = parts(grouped && gradients.v.tensor.defined(), s.keys * s.width);
  query_table_ = parts(gradients.query_table.defined(), plan.query_table.stride() * s.width);
  key_table_ = parts(gradients.key_table.defined(), plan.key_table.stride() * s.width);
  value_table_ = parts(gradients.value_table.defined(), plan.value_table.stride() * s.width);
  content_bias_ = parts(gradients.content_bias.defined(), s.width);
  position_bias_ = parts(gradients.position_bias.defined(), s.width);
  bias_ = parts(gradients.bias.defined() && terms.bias.defined(),
                plan.range.last - plan.range.first + 1);
}

BackwardUnit GradientSums::unit(int64_t index) const {
  BackwardUnit unit;
  unit.index = index;
  unit.group = index % strip_groups_;
  index /= strip_groups_;
  const int64_t sequences = index % sequence_groups_;
  unit.head = index / sequence_groups_;
  unit.first_sequence = plan_.shape.batch * sequences / sequence_groups_;
  unit.last_sequence = plan_.shape.batch * (sequences + 1) / sequence_groups_;
  return unit;
}

GradientSums::Rows GradientSums::rows(const BackwardUnit& unit, int64_t sequence,
                                      const HeadRows& gradient, const Tensor& parts) const {
  const int64_t width = plan_.shape.width;
  if (parts.defined()) return {part(parts, unit.index), width};
  const HeadView<float> view(gradient, width);
  if (!view) return {};
  return {view.at(sequence, 0, unit.head), view.columns};
}

void GradientSums::clear_keys(const BackwardUnit& unit, const HeadRows& gradient, Write write,
                              const Tensor& parts) const {
  if (parts.defined()) {
    std::fill_n(part(parts, unit.index), parts.shape()[1], 0.0f);
    return;
  }
  if (!gradient.tensor.defined() || write == Write::kAdd) return;
  for (int64_t b = unit.first_sequence; b < unit.last_sequence; ++b) {
    const Rows to = rows(unit, b, gradient, parts);
    clear_rows(plan_.shape.keys, plan_.shape.width, to.data, to.stride);
  }
}

void GradientSums::clear(const BackwardUnit& unit) const {
  clear_keys(unit, gradients_.k, gradients_.write_k, key_parts_);
  clear_keys(unit, gradients_.v, gradients_.write_v, value_parts_);
  for (const Tensor* parts :
       {&query_table_, &key_table_, &value_table_, &content_bias_, &position_bias_, &bias_}) {
    if (parts->defined()) std::fill_n(part(*parts, unit.index), parts->shape()[1], 0.0f);
  }
}

void GradientSums::add_parts(const Tensor& parts, int64_t heads) const {
  if (!parts.defined()) return;
  constexpr int64_t kChunk = 256;
  const int64_t count = parts.shape()[1], each = units() / heads;
  const int64_t chunks = (count + kChunk - 1) / kChunk;
#pragma omp for
  for (int64_t n = 0; n < heads * chunks; ++n) {
    const int64_t first = n % chunks * kChunk, head = n / chunks;
    float* sum = part(parts, head * each) + first;
    // One row of a matrix whose rows are parts: the next ones are added to it.
    add_weighted_rows(nullptr, sum + count, count, each - 1, std::min(kChunk, count - first), sum);
  }
}

void GradientSums::add_rows(const Tensor& parts, const HeadRows& gradient, Write write) const {
  if (!parts.defined()) return;
  const AttentionShape& s = plan_.shape;
  const HeadView<float> to(gradient, s.width);
#pragma omp for collapse(2)
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.heads; ++h) {
      // Grouped strips: every sequence has units of its own.
      const int64_t first = (h * sequence_groups_ + b) * strip_groups_;
      for (int64_t group = 0; group < strip_groups_; ++group) {
        const bool set = group == 0 && write == Write::kSet;
        scale_rows(part(parts, first + group), s.width, nullptr, 1, s.keys, s.width, to.at(b, 0, h),
                   to.columns, set ? Write::kSet : Write::kAdd);
      }
    }
  }
}

void GradientSums::write_table(const Tensor& parts, const OffsetColumns& columns, float factor,
                               const OffsetTable<Tensor>& terms, const Into& gradient) const {
  if (!parts.defined()) return;
  const int64_t heads = columns.heads(), each = units() / heads;
  const TableView<float> to(gradient.tensor.data<float>(), gradient.tensor.shape(), terms.layout,
                            plan_.shape.width);
#pragma omp for
  for (int64_t h = 0; h < heads; ++h) {
    if (gradient.write == Write::kSet) {
      clear_rows(to.rows, plan_.shape.width, to.at(h, 0), to.row_stride);
    }
    columns.scatter(part(parts, h * each), factor, to, h);
  }
}

void GradientSums::write_vectors(const Tensor& parts, const Into& gradient) const {
  if (!parts.defined()) return;
  const int64_t heads = plan_.shape.heads, width = plan_.shape.width;
#pragma omp for
  for (int64_t h = 0; h < heads; ++h) {
    scale_rows(part(parts, h * (units() / heads)), width, nullptr,
               static_cast<float>(plan_.call.terms.scale), 1, width,
               gradient.tensor.data<float>() + h * width, width, gradient.write);
  }
}

void GradientSums::write_bias() const {
  if (!bias_.defined()) return;
  const OffsetMap& map = plan_.call.terms.bias_map;
  const int64_t heads = plan_.shape.heads, rows = gradients_.bias.tensor.shape()[1];
#pragma omp for
  for (int64_t h = 0; h < heads; ++h) {
    float* to = gradients_.bias.tensor.data<float>() + h * rows;
    if (gradients_.bias.write == Write::kSet) std::fill_n(to, rows, 0.0f);
    const float* sums = part(bias_, h * (units() / heads));
    double run = 0;
    for (int64_t r = plan_.range.first; r <= plan_.range.last; ++r) {
      run += sums[r - plan_.range.first];
      if (r < plan_.range.last && row_of(map, r + 1) == row_of(map, r)) continue;
      to[row_of(map, r)] += static_cast<float>(run);
      run = 0;
    }
  }
}

void GradientSums::reduce() const {
  const AttentionTermsOf<Tensor>& terms = plan_.call.terms;
  const int64_t heads = plan_.shape.heads;
  add_rows(key_parts_, gradients_.k, gradients_.write_k);
  add_rows(value_parts_, gradients_.v, gradients_.write_v);
  add_parts(query_table_, plan_.query_table.heads());
  add_parts(key_table_, plan_.key_table.heads());
  add_parts(value_table_, plan_.value_table.heads());
  add_parts(content_bias_, heads);
  add_parts(position_bias_, heads);
  add_parts(bias_, heads);
  const auto scale = static_cast<float>(terms.scale);
  write_table(query_table_, plan_.query_table, 1, terms.query_table, gradients_.query_table);
  write_table(key_table_, plan_.key_table, scale, terms.key_table, gradients_.key_table);
  write_table(value_table_, plan_.value_table, 1, terms.value_table, gradients_.value_table);
  write_vectors(content_bias_, gradients_.content_bias);
  write_vectors(position_bias_, gradients_.position_bias);
  write_bias();
}

}  // namespace tapemeasure::cpu
