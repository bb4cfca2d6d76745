// SPDX-License-Identifier: MIT
#include <omp.h>

#include <cmath>

#include "core/backends/cpu/attention.h"
#include "core/backends/cpu/attention_head.h"
#include "core/backends/cpu/block_gemm.h"
#include "core/backends/cpu/block_loops.h"
#include "core/backends/cpu/f32.h"

namespace tapemeasure::cpu {

namespace {

class ForwardWork : public HeadWork {
 public:
  ForwardWork(const AttentionPlan& plan, Scratch& scratch)
      : HeadWork(plan, scratch), plan_(plan), mixed_(scratch.take(kStrip * plan.shape.width)) {}

  void run(int64_t index, const Tensor& out, const Tensor& log_sum_exp);

 private:
  void mix(const Strip& strip);

  const AttentionPlan& plan_;
  float* mixed_;  // [rows, width], values mixed by the exponentials
};

void ForwardWork::mix(const Strip& strip) {
  const int64_t width = plan_.shape.width;
  for_tiles(strip, [&](const Tile& tile) {
    const BlockProduct how{tile.rows,       width, tile.columns, x.stride,
                           plan_.v.columns, width, false,        tile.column > 0};
    block_gemm(how, x.data + tile.row * x.stride + tile.column,
               plan_.v.at(sequence, strip.begin + tile.column, head), mixed_ + tile.row * width);
  });
  if (plan_.value_table) add_table_rows(strip, plan_.value_table, x, mixed_);
}

void ForwardWork::run(int64_t index, const Tensor& out, const Tensor& log_sum_exp) {
  const AttentionShape& s = plan_.shape;
  const Strip strip = plan_.strip(sequence, index);
  const int64_t out_stride = s.heads * s.width;
  float* y = out.data<float>() + (sequence * s.queries + strip.first) * out_stride + head * s.width;
  float tops[kStrip] = {}, sums[kStrip] = {};
  const StripDropout dropped = plan_.dropout(strip, sequence, head, words);
  if (strip.columns() > 0) {
    logits(strip);
    exponentials(strip, dropped, x, tops, sums);
    mix(strip);
  } else {
    std::fill_n(mixed_, strip.rows * s.width, 0.0f);
  }
  float* lse = log_sum_exp.data<float>() + (sequence * s.heads + head) * s.queries + strip.first;
  for (int64_t i = 0; i < strip.rows; ++i) {
    lse[i] = tops[i] + std::log(sums[i]);
    sums[i] = sums[i] == 0 ? 0 : dropped.factor / sums[i];
  }
  scale_each_row(mixed_, s.width, sums, strip.rows, s.width, y, out_stride);
}

}  // namespace

void attention(Backend& memory, const AttentionCall& call, const Tensor& out,
               const Tensor& log_sum_exp) {
  f32(out);  // a check of all: floating tensors of one call share a dtype
  const AttentionPlan plan(memory, call, true);
  const AttentionShape& s = call.shape;
  Scratch count(nullptr);
  ForwardWork(plan, count);
  const int threads = omp_get_max_threads();
  const Tensor scratch = empty(memory, {threads, count.used()}, DType::kF32);
  // Few heads are cut into groups of strips, long and short ones mixed. No result depends on it.
  const int64_t heads = s.batch * s.heads;
  const int64_t groups =
      heads >= 4 * threads ? 1 : std::min(plan.strips, (4 * threads + heads - 1) / heads);
#pragma omp parallel num_threads(threads)
  {
    Scratch own(scratch.data<float>() + omp_get_thread_num() * count.used());
    ForwardWork work(plan, own);
#pragma omp for
    for (int64_t h = 0; h < s.heads; ++h) plan.fill(h);
#pragma omp for schedule(dynamic, 1)
    for (int64_t unit = 0; unit < heads * groups; ++unit) {
      const int64_t group = unit % groups, head = unit / groups;
      work.begin(head / s.heads, head % s.heads);
      for (int64_t strip = group; strip < plan.strips; strip += groups) {
        work.run(strip, out, log_sum_exp);
      }
    }
  }
}

}  // namespace tapemeasure::cpu
