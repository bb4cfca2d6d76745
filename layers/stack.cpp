// SPDX-License-Identifier: MIT
#include "layers/stack.h"

#include <algorithm>

namespace tapemeasure {

Stack::Stack(const ModelOptions& options, StackKind kind, const Scope& scope)
    : options_(options),
      kind_(kind),
      embedding_site_(hash_text((scope / "embedding").path())),
      method_(options.position.options->serves(kind != StackKind::kEncoder)
                  ? options.position.options->build(options, scope / "position")
                  : std::make_unique<PositionMethod>()),
      absolute_(options.position.options->build_absolute(options, scope / "position")) {
  if (options.embedding_norm) embedding_norm_.emplace(options, scope / "embedding_norm");
  blocks_.reserve(static_cast<size_t>(options.layers));
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    blocks_.emplace_back(options, *method_, kind == StackKind::kCrossDecoder,
                         scope / "blocks" / layer);
  }
  if (options.enhanced_mask_decoder) {
    enhanced_ = &(scope / "enhanced" / "position")
                     .parameter("weight", {options.context, options.width},
                                Init::normal(options.embedding_deviation()), Role::kPosition);
  }
  if (options.has_final_norm()) norm_.emplace(options, scope / "norm");
}

AttentionMask Stack::mask(const StackSource& source) const {
  AttentionMask mask{.causal = kind_ != StackKind::kEncoder,
                     .key_end = source.key_end,
                     .documents = source.documents_BS,
                     .prefix = source.prefix};
  const auto narrow = [&](int64_t window) {
    if (window > 0) mask.window = mask.window > 0 ? std::min(mask.window, window) : window;
  };
  narrow(options_.window);
  if (source.caches) narrow(source.caches->window);
  if (options_.same_length) {
    narrow(source.lanes.memory ? source.lanes.memory->length() : options_.memory);
  }
  return mask;
}

Variable Stack::block(Run& run, const Block& block, const Variable& x_BTD,
                      const BlockSource& source) const {
  if (!run.recompute || !run.tape.recording()) return block(run, x_BTD, source);
  BlockSource constants = source;
  constants.rows_BSD = constants.encoded_BSD = {};
  const Variable inputs[] = {x_BTD, source.rows_BSD, source.encoded_BSD};
  return recomputed(run, inputs, [&block, constants](Run& again, std::span<const Variable> read) {
    BlockSource now = constants;
    now.rows_BSD = read[1];
    now.encoded_BSD = read[2];
    return block(again, read[0], now);
  });
}

Variable Stack::enhanced(Run& run, const Variable& x_BTD, BlockSource read) const {
  read.rows_BSD = x_BTD;
  Variable z_BTD = add_rows(run, x_BTD, run.tape.leaf(*enhanced_), 0);
  for (int time = 0; time < 2; ++time) z_BTD = block(run, blocks_.back(), z_BTD, read);
  return z_BTD;
}

Variable Stack::operator()(Run& run, const Variable& embedded_BTD,
                           const StackSource& source) const {
  const int64_t batch = embedded_BTD.shape()[0], rows = embedded_BTD.shape()[1];
  Caches* caches = source.caches;
  const int64_t first = caches ? caches->position : 0;
  Variable x_BTD = method_->embed(run, embedded_BTD, first);
  if (absolute_) x_BTD = absolute_->embed(run, x_BTD, first);
  if (embedding_norm_) x_BTD = (*embedding_norm_)(run, x_BTD);
  x_BTD = dropout(run, x_BTD, run.dropout(options_.dropout, embedding_site_));
  BlockSource read{
      .encoded_BSD = source.encoded_BSD, .encoded_end = source.encoded_end, .mask = mask(source)};
  for (size_t layer = 0; layer < blocks_.size(); ++layer) {
    if (caches) {
      read.cache = &caches->layers[layer];
      if (kind_ == StackKind::kCrossDecoder) read.cross_cache = &caches->cross[layer];
    }
    if (Memory* memory = source.lanes.memory) {
      const auto index = static_cast<int64_t>(layer);
      read.memory_BMD = memory->layer(index, source.lanes.first_sequence, batch);
      memory->keep(index, source.lanes.first_sequence, x_BTD.value());
    }
    const Timed timed(run.tape.trace(), "block");
    const bool last = layer + 1 == blocks_.size();
    x_BTD =
        last && enhanced_ ? enhanced(run, x_BTD, read) : block(run, blocks_[layer], x_BTD, read);
  }
  if (caches) caches->position += rows;
  return norm_ ? (*norm_)(run, x_BTD) : x_BTD;
}

std::optional<int64_t> Stack::longest() const {
  auto longest = method_->longest();
  if (!longest && absolute_) longest = absolute_->longest();
  if (!longest && enhanced_) longest = enhanced_->shape[0];
  return longest;
}

}  // namespace tapemeasure
