// SPDX-License-Identifier: MIT
// What holds for every position method in encoders, in encoder-decoders, and in decoders with a
// prefix: who sees whom, that padding is nothing, and that cached equals uncached.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/host.h"
#include "tests/layers/small_model.h"

namespace tapemeasure {
namespace {

constexpr int64_t kWidth = 8, kLength = 8;

class EveryKind : public testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Methods, EveryKind, testing::ValuesIn(methods()), test_name);

Tensor ends(const SmallModel& model, const std::vector<int32_t>& lengths) {
  return to_tensor(*model.backend, {static_cast<int64_t>(lengths.size())}, lengths);
}

/// Row t of a sequence's hidden states.
std::vector<double> row(const std::vector<double>& sequence, int64_t t) {
  return {sequence.begin() + t * kWidth, sequence.begin() + (t + 1) * kWidth};
}
std::vector<double> first_rows(const std::vector<double>& sequence, int64_t count) {
  return {sequence.begin(), sequence.begin() + count * kWidth};
}

void change(const Tensor& tokens, int64_t index) {
  int32_t& token = tokens.data<int32_t>()[index];
  token = (token + 1) % 11;
}

// R165.
TEST_P(EveryKind, AnEncoderSeesBothWays) {
  const SmallModel model(small_options(GetParam(), "kind: encoder"), "reference", DType::kF64);
  const Tensor tokens = model.tokens(1, 0, kLength);
  const auto before = model.hidden(tokens)[0];
  for (const int64_t changed : {int64_t{0}, kLength - 1}) {
    change(tokens, changed);
    const auto after = model.hidden(tokens)[0];
    for (int64_t t = 0; t < kLength; ++t) {
      EXPECT_GT(difference(row(after, t), row(before, t)), 1e-9) << changed << " seen by " << t;
    }
    tokens.data<int32_t>()[changed] = model.tokens(1, 0, kLength).data<int32_t>()[changed];
  }
}

/// Sequences of these lengths among others, padded further, and alone: the same numbers.
TEST_P(EveryKind, PaddingAndCompanyChangeNothing) {
  const std::vector<int32_t> lengths = {5, 8, 1, 3, 7, 2, 8, 6};
  for (const char* kind : {"encoder", "encoder_decoder"}) {
    const bool crosses = std::string(kind) == "encoder_decoder";
    const SmallModel model(small_options(GetParam(), std::string("kind: ") + kind), "reference",
                           DType::kF64);
    const Tensor all = model.tokens(8, 0, kLength), targets = model.tokens(8, 50, 4);
    const auto input = [&](int64_t first, int64_t count, int64_t length) {
      std::vector<int32_t> ids;
      for (int64_t b = first; b < first + count; ++b) {
        const int32_t* from = all.data<int32_t>() + b * kLength;
        ids.insert(ids.end(), from, from + length);
      }
      const Tensor cut = to_tensor(*model.backend, {count, length}, ids);
      const Tensor its = ends(model, {lengths.begin() + first, lengths.begin() + first + count});
      if (!crosses) return ModelInput{.tokens_BT = cut, .lengths_B = its};
      return ModelInput{
          .tokens_BT = targets.rows(first, count), .source_BS = cut, .source_lengths_B = its};
    };
    const auto whole = model.hidden(input(0, 8, kLength));
    for (const int64_t batch : {int64_t{1}, int64_t{2}}) {
      for (int64_t first = 0; first < 8; first += batch) {
        const auto longest =
            *std::max_element(lengths.begin() + first, lengths.begin() + first + batch);
        const auto part = model.hidden(input(first, batch, longest));
        for (int64_t b = 0; b < batch; ++b) {
          const int64_t rows = crosses ? 4 : lengths[static_cast<size_t>(first + b)];
          EXPECT_EQ(first_rows(part[static_cast<size_t>(b)], rows),
                    first_rows(whole[static_cast<size_t>(first + b)], rows))
              << kind << ", " << batch << " at once, sequence " << first + b;
        }
      }
    }
  }
}

/// Losses and gradients of all parameters.
std::vector<std::vector<double>> learned(SmallModel& model, const ModelInput& input,
                                         const Tensor& targets) {
  Tape tape;
  tapemeasure::Run run(tape, true);
  model.store.clear_gradients();
  const Variable hidden = model.network->hidden(run, input);
  const CrossEntropy result = model.network->loss(run, hidden, targets, {});
  tape.backward(result.loss);
  model.store.complete_gradients();
  std::vector<std::vector<double>> all = {to_doubles(result.losses)};
  for (const Parameter& parameter : model.store.all())
    all.push_back(to_doubles(parameter.gradient));
  return all;
}

TEST_P(EveryKind, WhatIsPaddedDoesNotMatterToTheBit) {
  for (const char* kind : {"encoder", "encoder_decoder"}) {
    const bool crosses = std::string(kind) == "encoder_decoder";
    SmallModel model(small_options(GetParam(), std::string("kind: ") + kind), "reference",
                     DType::kF64);
    const Tensor padded = model.tokens(2, 0, kLength), targets = model.tokens(2, 80, kLength);
    if (!crosses) {
      for (int64_t t = 5; t < kLength; ++t) targets.data<int32_t>()[t] = -1;
    }
    ModelInput input{.tokens_BT = padded, .lengths_B = ends(model, {5, 8})};
    if (crosses) {
      input = {.tokens_BT = model.tokens(2, 40, kLength),
               .source_BS = padded,
               .source_lengths_B = ends(model, {5, 8})};
    }
    const auto before = learned(model, input, targets);
    for (int64_t t = 5; t < kLength; ++t) change(padded, t);
    EXPECT_EQ(learned(model, input, targets), before) << kind;
    change(padded, 4);
    EXPECT_NE(learned(model, input, targets), before) << kind;
  }
}

TEST_P(EveryKind, TheDecoderOfAnEncoderDecoderSeesNoFuture) {
  for (const char* backend : {"reference", "cpu"}) {
    const bool exact = std::string(backend) == "reference";
    const SmallModel model(small_options(GetParam(), "kind: encoder_decoder"), backend,
                           exact ? DType::kF64 : DType::kF32);
    const Tensor tokens = model.tokens(1, 0, kLength), source = model.tokens(1, 30, 5);
    const auto hidden = [&] { return model.hidden({.tokens_BT = tokens, .source_BS = source})[0]; };
    const auto before = hidden();
    change(tokens, 4);
    const auto after = hidden();
    EXPECT_EQ(first_rows(after, 4), first_rows(before, 4));
    for (int64_t t = 4; t < kLength; ++t) EXPECT_NE(row(after, t), row(before, t)) << t;
    change(source, 4);
    const auto other = hidden();
    for (int64_t t = 0; t < kLength; ++t) EXPECT_NE(row(other, t), row(after, t)) << t;
  }
}

TEST_P(EveryKind, APrefixIsSeenByAllAndTheRestByNobodyBefore) {
  for (const char* backend : {"reference", "cpu"}) {
    const bool exact = std::string(backend) == "reference";
    const SmallModel model(small_options(GetParam()), backend, exact ? DType::kF64 : DType::kF32);
    const Tensor tokens = model.tokens(2, 0, kLength);
    const ModelInput input{.tokens_BT = tokens, .prefix_B = ends(model, {4, 0})};
    const auto before = model.hidden(input);
    change(tokens, 3);
    const auto inside = model.hidden(input);
    for (int64_t t = 0; t < kLength; ++t) EXPECT_NE(row(inside[0], t), row(before[0], t)) << t;
    EXPECT_EQ(inside[1], before[1]);
    change(tokens, 6);
    change(tokens, kLength + 6);
    const auto outside = model.hidden(input);
    for (int b = 0; b < 2; ++b) {
      EXPECT_EQ(first_rows(outside[b], 6), first_rows(inside[b], 6));
      EXPECT_NE(row(outside[b], 6), row(inside[b], 6));
    }
  }
}

TEST_P(EveryKind, CachedEqualsUncachedBehindAPrefix) {
  const SmallModel model(small_options(GetParam()), "reference", DType::kF64);
  const Tensor prefix = ends(model, {3, 3});
  Caches caches = model.network->caches(*model.backend, model.dtype, 2, kLength);
  for (const auto& [first, count] : {std::pair{0, 3}, {3, 1}, {4, 3}, {7, 1}}) {
    const auto cached = model.hidden(
        {.tokens_BT = model.tokens(2, first, count), .prefix_B = prefix, .caches = &caches});
    const auto whole =
        model.hidden({.tokens_BT = model.tokens(2, 0, first + count), .prefix_B = prefix});
    for (int b = 0; b < 2; ++b) {
      for (int t = 0; t < count; ++t) {
        EXPECT_EQ(row(cached[b], t), row(whole[b], first + t)) << first + t;
      }
    }
  }
}

TEST_P(EveryKind, CachedEqualsUncachedInAnEncoderDecoder) {
  const SmallModel model(small_options(GetParam(), "kind: encoder_decoder"), "reference",
                         DType::kF64);
  const Tensor source = model.tokens(2, 30, 6), lengths = ends(model, {6, 3});
  Caches caches = model.network->caches(*model.backend, model.dtype, 2, 20);
  for (const auto& [first, count] : {std::pair{0, 1}, {1, 1}, {2, 5}, {7, 1}}) {
    ModelInput input{.tokens_BT = model.tokens(2, first, count), .caches = &caches};
    if (first == 0) {
      input.source_BS = source;
      input.source_lengths_B = lengths;
    }
    const auto cached = model.hidden(input);
    const auto whole = model.hidden({.tokens_BT = model.tokens(2, 0, first + count),
                                     .source_BS = source,
                                     .source_lengths_B = lengths});
    for (int b = 0; b < 2; ++b) {
      for (int t = 0; t < count; ++t) {
        EXPECT_EQ(row(cached[b], t), row(whole[b], first + t)) << first + t;
      }
    }
  }
}

TEST(Kinds, WhatDoesNotGoTogetherIsSaid) {
  const Method learned{"learned", "{kind: learned}"};
  const SmallModel translator(small_options(learned, "kind: encoder_decoder"), "reference",
                              DType::kF64);
  const Tensor tokens = translator.tokens(1, 0, 4);
  EXPECT_THROW(translator.hidden(tokens), ConfigError);  // no source
  EXPECT_THROW(
      translator.hidden({.tokens_BT = tokens, .source_BS = translator.tokens(1, 0, kLength + 1)}),
      ConfigError);
  const SmallModel encoder(small_options(learned, "kind: encoder"), "reference", DType::kF64);
  EXPECT_THROW(encoder.hidden({.tokens_BT = tokens, .prefix_B = ends(encoder, {2})}), ShapeError);
}

// R63.
TEST(Kinds, SidesHaveTablesOfTheirOwn) {
  const SmallModel both(small_options({"t5", "{kind: t5, shared: true}"}, "kind: encoder_decoder"),
                        "reference", DType::kF64);
  SmallModel one(small_options({"t5", "{kind: t5, stacks: decoder}"}, "kind: encoder_decoder"),
                 "reference", DType::kF64);
  EXPECT_EQ(both.store.count() - one.store.count(), 32 * 2);
  EXPECT_EQ(one.store.find("encoder.position.bias"), nullptr);
  EXPECT_NE(one.store.find("decoder.position.bias"), nullptr);
  EXPECT_EQ(one.store.find("decoder.blocks.0.cross.position.bias"), nullptr);
}

/// The first loss is a guess among all words. (Fewer words would show what a tied head makes of a
/// token that is seen: behind a post-norm its own embedding stands out.)
TEST_P(EveryKind, StartsAtChance) {
  for (const char* kind : {"encoder", "encoder_decoder"}) {
    for (const char* more : {"", ", norm_position: post", ", initialisation: gpt2"}) {
      const ModelOptions options = model_options(
          std::string("{width: 64, heads: 16, layers: 2, context: 32, vocabulary: 500, "
                      "kind: ") +
          kind + more + ", position: " + GetParam().position + "}");
      const auto backend = make_backend("cpu", 1);
      ParameterStore store;
      const LanguageModel network(options, Scope(store));
      store.allocate(*backend, DType::kF32, 1);
      std::vector<int32_t> ids[3];
      for (uint64_t i = 0; i < 8 * 32; ++i) {
        for (uint64_t n = 0; n < 3; ++n) {
          ids[n].push_back(static_cast<int32_t>(random_below(5 + n, i, 500)));
        }
      }
      Tape tape(false);
      tapemeasure::Run run(tape);
      const double chance = std::log(500.0);
      ModelInput input{.tokens_BT = to_tensor(*backend, {8, 32}, ids[0])};
      if (options.kind == ModelKind::kEncoderDecoder) {
        input.source_BS = to_tensor(*backend, {8, 32}, ids[1]);
      }
      const Variable hidden = network.hidden(run, input);
      const double loss =
          network.loss(run, hidden, to_tensor(*backend, {8, 32}, ids[2]), {}).total / (8 * 32);
      EXPECT_NEAR(loss, chance, 0.05 * chance) << kind << more;
    }
  }
}

}  // namespace
}  // namespace tapemeasure
