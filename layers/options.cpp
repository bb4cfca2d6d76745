// SPDX-License-Identifier: MIT
#include "layers/options.h"

#include <algorithm>

#include "core/error.h"

namespace tapemeasure {

namespace {
constexpr const char* kKinds[] = {"decoder", "encoder", "encoder_decoder"};
constexpr const char* kActivations[] = {"relu", "gelu", "gelu_tanh", "silu"};
constexpr const char* kNorms[] = {"layernorm", "rmsnorm"};
constexpr const char* kNormPositions[] = {"pre", "post"};
constexpr const char* kInitialisations[] = {"scaled", "gpt2", "t5", "transformer_xl"};
constexpr const char* kScaleWords[] = {"rsqrt"};
constexpr const char* kLinears[] = {"query", "key", "value", "output", "up", "gate", "down"};
}  // namespace

void ModelOptions::visit(Fields& f) {
  f.choose(
      "kind", kind, kKinds,
      "a causal language model, a masked one that sees both ways, or a translator of sequences");
  f.integer("layers", layers, {1, 1000}, "number of blocks");
  f.integer("width", width, {1, 1 << 16}, "width of the residual stream");
  f.integer("heads", heads, {1, 1024}, "attention heads");
  f.integer("head_width", head_width, {1, 4096}, "width / heads", "width of a head");
  f.integer("feedforward", feedforward, {1, 1 << 18}, "4 * width", "inner width of feed-forward");
  f.integer("vocabulary", vocabulary, {1, 1 << 24}, "the tokenizer's", "number of token types");
  f.integer("context", context, {1, 1 << 24},
            "longest training sequence; rows of a learned position table", "tokens");
  f.choose("activation", activation, kActivations, "of the feed-forward; gelu is exact (erf)");
  f.boolean("gated", gated, "feed-forward is down(act(gate x) * (up x))");
  f.choose("norm", norm, kNorms, "kind of normalisation");
  f.real("norm_epsilon", norm_epsilon, {0, 1}, "added to the variance");
  f.choose("norm_position", norm_position, kNormPositions,
           "before each branch, or after adding it to the residual stream");
  f.boolean("final_norm", final_norm, "true for pre, false for post", "a norm before the head");
  f.boolean("embedding_norm", embedding_norm, "a norm right after the embeddings");
  f.real("embedding_scale", embedding_scale, {0, 1e6}, "multiplies token embeddings");
  f.boolean_or_names("bias", bias, biases, kLinears,
                     "attention and feed-forward linears have biases, or a list of those that do");
  f.boolean("tied_head", tied_head, "the head's weight is the token embedding's");
  f.boolean("head_bias", head_bias, "the head has a bias");
  f.boolean("head_transform", head_transform,
            "encoders: a linear of the model's width, the activation and a norm before the head");
  f.boolean("enhanced_mask_decoder", enhanced_mask_decoder,
            "post-norm encoders: absolute positions meet the last block alone, which is applied "
            "twice (DeBERTa)");
  f.real("head_scale", head_scale, {0, 1e6}, "multiplies the hidden states before the head");
  f.section("adaptive_softmax", adaptive_softmax,
            "input and head in bins by frequency, for large vocabularies in order of frequency");
  f.word_or_real("attention_scale", attention_scale_word, attention_scale, kScaleWords,
                 "rsqrt: 1 / sqrt(head_width); or a number");
  f.integer("window", window, {0, 1 << 24}, "a query sees only keys nearer than this; 0: all",
            "tokens");
  f.integer("memory", memory, {0, 1 << 24},
            "inputs of earlier segments that every layer remembers, without gradient", "tokens");
  f.boolean("same_length", same_length,
            "a query sees only the last `memory` keys, itself included");
  f.text("document_end", document_end,
         "a text that closes a document: no token sees one of another document; empty: all do");
  f.real("dropout", dropout, {0, 0.999},
         "of embeddings, attention and feed-forward outputs, and attention weights");
  f.real("attention_dropout", attention_dropout, {0, 0.999}, "dropout", "of attention weights");
  f.choose(
      "initialisation", initialisation, kInitialisations,
      "scaled: uniform by fan-in; gpt2: normal with deviation 0.02; t5, transformer_xl: as their "
      "authors'");
  f.kind("position", position, position_methods(), "how tokens are told where they are");
}

void ModelOptions::validate(const std::function<std::string(const std::string&)>& place) const {
  check<ConfigError>(head_width || width % heads == 0,
                     "{}: model.width {} is not a multiple of model.heads {}: change one of them, "
                     "or give model.head_width",
                     place("model.heads"), width, heads);
  const bool gate = std::find(biases.begin(), biases.end(), "gate") != biases.end();
  check<ConfigError>(gated || !gate,
                     "{}: model.bias names gate, but model.gated is false: there is no gate",
                     place("model.bias"));
  check<ConfigError>(!same_length || memory > 0,
                     "{}: model.same_length needs model.memory, which says how many keys a query "
                     "sees",
                     place("model.same_length"));
  check<ConfigError>(
      document_end.empty() || memory == 0,
      "{}: model.document_end does not go with model.memory: what is remembered does "
      "not say which document it is of",
      place("model.document_end"));
  check<ConfigError>(document_end.empty() || kind != ModelKind::kEncoderDecoder,
                     "{}: model.document_end does not go with model.kind encoder_decoder, which "
                     "reads a source as one",
                     place("model.document_end"));
  validate_kind(place);
  validate_adaptive(place);
  const std::string refusal = position.options->refuses_memory();
  check<ConfigError>(memory == 0 || refusal.empty(),
                     "{}: model.memory does not go with model.position.kind {}: {}",
                     place("model.memory"), position.kind, refusal);
  try {
    position.options->validate(*this);
  } catch (const ConfigError& error) {
    throw ConfigError(place("model.position") + ": " + error.what());
  }
}

void ModelOptions::validate_kind(const Place& place) const {
  const std::string name = kKinds[static_cast<int>(kind)];
  const bool decoder = kind == ModelKind::kDecoder, encoder = kind == ModelKind::kEncoder;
  check<ConfigError>(decoder || memory == 0,
                     "{}: model.memory is for model.kind decoder, which reads a text segment by "
                     "segment; {} reads every sequence whole",
                     place("model.memory"), name);
  check<ConfigError>(decoder || window == 0,
                     "{}: model.window counts back from a token in a text without end; it is for "
                     "model.kind decoder, not {}",
                     place("model.window"), name);
  check<ConfigError>(encoder || !head_transform,
                     "{}: model.head_transform is for model.kind encoder (BERT's head), not {}",
                     place("model.head_transform"), name);
  if (!enhanced_mask_decoder) return;
  const std::string where = place("model.enhanced_mask_decoder");
  check<ConfigError>(encoder,
                     "{}: model.enhanced_mask_decoder guesses masked tokens: it is for model.kind "
                     "encoder, not {}",
                     where, name);
  check<ConfigError>(norm_position == NormPosition::kPost,
                     "{}: model.enhanced_mask_decoder applies the last block to its own output, "
                     "which needs model.norm_position post",
                     where);
  check<ConfigError>(!position.options->adds_to_embeddings(),
                     "{}: model.enhanced_mask_decoder brings absolute positions in behind the "
                     "blocks, and model.position puts some at the input already",
                     where);
}

void ModelOptions::validate_adaptive(const Place& place) const {
  adaptive_softmax.validate(place, width);
  if (!adaptive_softmax.active()) return;
  if (vocabulary) {
    adaptive_softmax.check_vocabulary(place("adaptive_softmax.cutoffs"), *vocabulary);
  }
  check<ConfigError>(tied_head,
                     "{}: with model.adaptive_softmax its key `tied` says whether the head has "
                     "tables of its own",
                     place("model.tied_head"));
  check<ConfigError>(!head_transform && head_scale == 1,
                     "{}: model.adaptive_softmax goes with neither model.head_transform nor "
                     "model.head_scale",
                     place("model.adaptive_softmax"));
}

bool ModelOptions::has_bias(const std::string& linear) const {
  if (biases.empty()) return bias;
  return std::find(biases.begin(), biases.end(), linear) != biases.end();
}

double ModelOptions::embedding_deviation() const {
  const bool small =
      initialisation == Initialisation::kGpt2 || initialisation == Initialisation::kTransformerXl;
  return small ? 0.02 : 0.45 / std::sqrt(double(width));
}

}  // namespace tapemeasure
