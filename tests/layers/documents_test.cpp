// SPDX-License-Identifier: MIT
// Document boundaries as a mask: who sees whom, alone = beside others, cached = uncached.
#include "layers/documents.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "core/host.h"
#include "tests/layers/small_model.h"

namespace tapemeasure {
namespace {

std::vector<int32_t> numbers(const std::vector<int32_t>& end, const std::vector<int32_t>& tokens) {
  std::vector<int32_t> numbers(tokens.size(), -1);
  DocumentEnds(end).number(tokens, numbers);
  return numbers;
}

TEST(DocumentEnds, CloseTheDocumentTheyBelongTo) {
  EXPECT_EQ(numbers({7}, {7, 1, 2, 7, 7, 3}), (std::vector<int32_t>{0, 1, 1, 1, 2, 3}));
  EXPECT_EQ(numbers({7, 7}, {1, 7, 7, 7, 7, 2, 7}), (std::vector<int32_t>{0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(numbers({7, 7}, {7, 7, 7, 1, 7}), (std::vector<int32_t>{0, 0, 1, 1, 1}))
      << "ends do not overlap";
  EXPECT_EQ(numbers({1, 2, 3}, {1, 2}), (std::vector<int32_t>{0, 0}));
}

class Documents : public testing::TestWithParam<Method> {
 protected:
  static constexpr int32_t kEnd = 10;
  /// Documents of 5, 8 and 6 tokens.
  static Tensor tokens(const SmallModel& model) {
    const Tensor tokens = model.tokens(1, 0, 19);
    int32_t* token = tokens.data<int32_t>();
    std::replace(token, token + 19, kEnd, 3);
    token[4] = token[12] = kEnd;
    return tokens;
  }
};

// R55.
TEST_P(Documents, DoNotSeeEachOther) {
  for (const char* kind : {"decoder", "encoder"}) {
    const SmallModel model(small_options(GetParam(), std::string("kind: ") + kind), "reference",
                           DType::kF64);
    model.network->separate_documents({kEnd});
    const Tensor tokens = Documents::tokens(model);
    const auto before = model.hidden(tokens)[0];
    tokens.data<int32_t>()[6] = (tokens.data<int32_t>()[6] + 1) % kEnd;
    const auto after = model.hidden(tokens)[0];
    for (size_t row = 0; row < 19; ++row) {
      const bool same = std::equal(before.begin() + row * 8, before.begin() + row * 8 + 8,
                                   after.begin() + row * 8);
      const bool sees = row >= 5 && row < 13 && (row >= 6 || std::string(kind) == "encoder");
      EXPECT_EQ(same, !sees) << kind << ", row " << row;
    }
  }
}

TEST_P(Documents, OneAloneIsTheSameAsBesideOthers) {
  if (!GetParam().relative) return;
  ModelOptions options = small_options(GetParam());
  options.context = 19;  // where frequencies depend on the length, none is beyond it
  const SmallModel model(options, "reference", DType::kF64);
  const Tensor tokens = Documents::tokens(model);
  const auto alone = model.hidden(
      to_tensor(*model.backend, {1, 8},
                std::vector<int32_t>(tokens.data<int32_t>() + 5, tokens.data<int32_t>() + 13)))[0];
  model.network->separate_documents({kEnd});
  const auto all = model.hidden(tokens)[0];
  const std::vector<double> beside(all.begin() + 5 * 8, all.begin() + 13 * 8);
  EXPECT_LE(difference(beside, alone), 1e-12 * largest(alone));
}

TEST_P(Documents, CachedIsUncached) {
  for (const int64_t window : {0, 3}) {
    const SmallModel model(small_options(GetParam()), "reference", DType::kF64);
    model.network->separate_documents({kEnd});
    const Tensor tokens = Documents::tokens(model);
    const SmallModel windowed(small_options(GetParam(), "window: " + std::to_string(window)),
                              "reference", DType::kF64);
    windowed.network->separate_documents({kEnd});
    Caches caches = model.network->caches(*model.backend, model.dtype, 1, 19, window);
    for (const auto& [first, count] : {std::pair{0, 7}, {7, 1}, {8, 1}, {9, 6}, {15, 4}}) {
      const std::vector<int32_t> piece(tokens.data<int32_t>() + first,
                                       tokens.data<int32_t>() + first + count);
      const auto cached = model.hidden(to_tensor(*model.backend, {1, count}, piece), &caches)[0];
      const std::vector<int32_t> so_far(tokens.data<int32_t>(),
                                        tokens.data<int32_t>() + first + count);
      const auto whole = windowed.hidden(to_tensor(*model.backend, {1, first + count}, so_far))[0];
      const std::vector<double> last(whole.end() - count * 8, whole.end());
      EXPECT_LE(difference(cached, last), 1e-12 * largest(last)) << "window " << window;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Positions, Documents, testing::ValuesIn(methods()), test_name);

TEST(DocumentOptions, DoNotGoWithMemory) {
  EXPECT_THROW(model_options("{memory: 4, position: {kind: none}, document_end: x}"), ConfigError);
  EXPECT_THROW(model_options("{kind: encoder_decoder, document_end: x}"), ConfigError);
  const SmallModel model(model_options("{width: 8, heads: 2, layers: 1, vocabulary: 11, "
                                       "position: {kind: none}}"),
                         "reference", DType::kF64);
  model.network->separate_documents({1});
  Memory memory = model.network->memory(*model.backend, model.dtype, 1, 4);
  EXPECT_THROW(model.hidden(model.tokens(1, 0, 4), MemoryLanes{&memory, 0}), ConfigError);
}

}  // namespace
}  // namespace tapemeasure
