// SPDX-License-Identifier: MIT
#include "app/ablation/effective_context.h"

#include <gtest/gtest.h>

namespace tapemeasure {
namespace {

TEST(EffectiveContext, StopsWhereTheGainIsUnderOnePercent) {
  // exp of the losses: 20.1, 18.2 (10 % better), 18.1 (0.4 %).
  const ContextLosses model = {
      {8, {3.0, 3.0}}, {16, {2.9, 2.9}}, {32, {2.896, 2.896}}, {64, {1, 1}}};
  EXPECT_EQ(effective_context(model, {model}), 16);
}

TEST(EffectiveContext, GoesToTheEndWhileItGains) {
  const ContextLosses model = {{8, {3.0}}, {16, {2.9}}, {32, {2.8}}};
  EXPECT_EQ(effective_context(model, {model}), 32);
}

// A gain counts over the best of the group, target by target, not over the model itself.
TEST(EffectiveContext, TheGroupRaisesTheBar) {
  const ContextLosses strong = {{8, {2.0, 2.0}}, {16, {1.9, 1.9}}};
  const ContextLosses weak = {{8, {3.0, 3.0}}, {16, {2.5, 2.5}}};
  EXPECT_EQ(effective_context(weak, {weak}), 16);
  EXPECT_EQ(effective_context(weak, {weak, strong}), 8);
  EXPECT_EQ(effective_context(strong, {weak, strong}), 16);
  // Better than the group on one target only: (2.0 + 2.0) / 2 against (1.5 + 2.0) / 2.
  const ContextLosses uneven = {{8, {3.0, 3.0}}, {16, {1.5, 3.0}}};
  EXPECT_EQ(effective_context(uneven, {uneven, strong}), 16);
}

}  // namespace
}  // namespace tapemeasure
