// SPDX-License-Identifier: MIT
// The ablations in configs/ablations: all parse and can be planned, the small ones judge every
// claim, and those in the papers' settings start, on a text and at a size that a test can bear.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "app/ablation/plan.h"
#include "core/file/atomic_file.h"
#include "tests/cli/process.h"
#include "tests/core/temporary_folder.h"

namespace tapemeasure::testing {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> plans(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(source_file("configs/ablations/" + folder)))
    paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(Shipped, EveryClaimIsJudgedAtTinySize) {
  const std::set<std::string> core = {
      "shaw-k-cliff",      "shaw-k-plateau",   "shaw-k1-bidirectional", "shaw-sides-keys",
      "shaw-sides-values", "shaw-sides-both",  "txl-recurrence",        "txl-longer-memory",
      "txl-shaw-memory",   "txl-recl",         "txl-state-reuse",       "alibi-sinusoid-collapse",
      "alibi-flat",        "alibi-order",      "alibi-sliding",         "t5-max-distance",
      "t5-encoder-bias",   "deberta-relative", "rope-sinusoid",         "deberta-late-absolute",
      "rope-ntk-2x",       "rope-yarn-8x",     "rope-yarn-magnitude",   "nope-causal",
      "learned-sinusoid"};
  const std::set<std::string> size_dependent = {
      "txl-over-shaw", "txl-half-loss", "alibi-at-length", "alibi-over-rope", "deberta-emd",
      "deberta-c2p",   "deberta-p2c",   "deberta-emd-c2p", "deberta-emd-p2c", "deberta-decoder",
      "rope-pi-tuned", "absolute-slow", "nope-depth",      "nope-generalises"};
  std::set<std::string> found_core, found_other;
  for (const std::string& path : plans("tiny")) {
    const Plan plan = Plan::read(path);
    EXPECT_GE(plan.seeds.size(), 3u) << path;
    for (const Claim& claim : plan.claims) {
      EXPECT_FALSE(claim.statement.empty() || claim.source.empty()) << path << " " << claim.id;
      (claim.core ? found_core : found_other).insert(claim.id);
    }
  }
  EXPECT_EQ(found_core, core);
  EXPECT_EQ(found_other, size_dependent);
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = fs::path(info.param).stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class Paper : public ::testing::TestWithParam<std::string> {};

TEST_P(Paper, PlansAndStarts) {
  const TemporaryFolder folder;
  fs::copy_file(source_file("configs/tiny.txt"), folder.path("tiny.txt"));
  const std::string& path = GetParam();
  const Outcome planned = run_program({"ablate", path, "--plan"}, folder.path(""));
  EXPECT_EQ(planned.code, 0) << planned.err;
  const Plan plan = Plan::read(path);
  const Experiment base = plan.base_experiment();
  std::vector<std::string> small = {"data.tokenizer=char",     "data.vocabulary=null",
                                    "data.split=[80, 10, 10]", "model.layers=1",
                                    "model.vocabulary=null",   "model.width=16",
                                    "model.heads=2",           "model.head_width=8",
                                    "model.feedforward=16",    "model.context=128",
                                    "trainer.steps=2",         "schedule.warmup_steps=1",
                                    "trainer.batch_tokens=256", "trainer.micro_batch_tokens=null"};
  if (base.objective.kind == "translation") {
    small.insert(small.end(), {"data.source=tiny.txt", "data.target=tiny.txt"});
  } else {
    small.insert(small.end(), {"data.text=tiny.txt", "data.valid=[]", "data.test=[]"});
  }
  if (base.model.adaptive_softmax.active()) {
    small.push_back("model.adaptive_softmax.cutoffs=[8, 16]");
  }
  const Cell cell = plan.cells()[0];
  std::vector<std::string> words = {"ablate", path, "--out", "out", "--cell", cell.name()};
  for (const std::string& assignment : small) words.insert(words.end(), {"--set", assignment});
  const Outcome started = run_program(words, folder.path(""));
  const std::string metrics = folder.path("out/runs/" + cell.name() + "/metrics.jsonl");
  ASSERT_TRUE(fs::exists(metrics)) << started.err;
  EXPECT_NE(read_file(metrics).find("\"step\": 2,"), std::string::npos) << started.err;
}

INSTANTIATE_TEST_SUITE_P(Ablations, Paper, ::testing::ValuesIn(plans("paper")), name_of);

}  // namespace
}  // namespace tapemeasure::testing
