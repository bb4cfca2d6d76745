// SPDX-License-Identifier: MIT
// BLEU against sacreBLEU's own answers, kept in tests/goldens/bleu.json.
#include "app/bleu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace tapemeasure {
namespace {

TEST(Bleu, IsSacrebleus) {
  std::ifstream file(TAPEMEASURE_SOURCE_DIR "/tests/goldens/bleu.json");
  const nlohmann::json sets = nlohmann::json::parse(file)["sets"];
  ASSERT_GE(sets.size(), 20u);
  const std::map<std::string, Smoothing> kSmoothing = {{"exp", Smoothing::kExp},
                                                       {"floor", Smoothing::kFloor},
                                                       {"add-k", Smoothing::kAddK},
                                                       {"none", Smoothing::kNone}};
  for (const nlohmann::json& set : sets) {
    SCOPED_TRACE(set["note"].get<std::string>());
    BleuOptions options;
    options.smoothing = kSmoothing.at(set["smoothing"]);
    if (!set["smooth_value"].is_null()) options.smooth_value = set["smooth_value"];
    options.tokenize = set["tokenize"] == "13a";
    const std::vector<std::string> hypotheses = set["hypotheses"];
    const std::vector<std::string> tokenized = set["tokenized"];
    for (size_t i = 0; options.tokenize && i < hypotheses.size(); ++i) {
      EXPECT_EQ(tokenize_13a(hypotheses[i]), tokenized[i]);
    }
    const Bleu ours = bleu(hypotheses, set["references"], options);
    EXPECT_NEAR(ours.score, set["score"].get<double>(), 1e-9);
    EXPECT_NEAR(ours.brevity_penalty, set["bp"].get<double>(), 1e-9);
    for (size_t n = 0; n < Bleu::kOrders; ++n) {
      EXPECT_NEAR(ours.precisions[n], set["precisions"][n].get<double>(), 1e-9) << n;
      if (!set.contains("counts")) continue;
      EXPECT_EQ(ours.matches[n], set["counts"][n].get<int64_t>()) << n;
      EXPECT_EQ(ours.totals[n], set["totals"][n].get<int64_t>()) << n;
    }
    EXPECT_EQ(ours.hypothesis_length, set["hypothesis_length"].get<int64_t>());
    EXPECT_EQ(ours.reference_length, set["reference_length"].get<int64_t>());
  }
}

TEST(Bleu, ListsOfOtherLengthsAreRefused) {
  EXPECT_THROW(bleu({"a", "b"}, {{"a"}}), ShapeError);
  EXPECT_THROW(bleu({"a"}, {}), ShapeError);
}

TEST(Bleu, WhiteSpaceIsUnicodes) {
  EXPECT_EQ(tokenize_13a("a\xC2\xA0"
                         "b\xE3\x80\x80 c\t"),
            "a b c");
  EXPECT_EQ(tokenize_13a("\xC3\xA9.\xC3\xA9,5"), "\xC3\xA9 . \xC3\xA9 , 5");
}

}  // namespace
}  // namespace tapemeasure
