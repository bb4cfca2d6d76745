// SPDX-License-Identifier: MIT
// Made-up questions: their answers, their layout for both kinds of models, and that evaluation asks
// what training never does.
#include "data/objective/task.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "data/tokenizer.h"
#include "tests/data/objective_fixture.h"

namespace tapemeasure::testing {
namespace {

/// Questions and answers as text.
struct Asked {
  std::string question, answer;
};

ObjectiveSetting setting(const ObjectiveOptions& task, Reader reader, int64_t sequences = 16) {
  return {.reader = reader,
          .context = 64,
          .batch_tokens = 64 * sequences,
          .vocabulary = task.tokenizer()->vocabulary(),
          .seed = 3};
}

/// Reads a batch back, checking its layout.
std::vector<Asked> read(const ObjectiveOptions& task, const Batch& batch) {
  const auto tokenizer = task.tokenizer();
  const auto end = static_cast<int32_t>(tokenizer->vocabulary()), start = end + 1;
  const bool crosses = batch.source_BS.defined();
  std::vector<Asked> all;
  int64_t scored = 0;
  for (int64_t s = 0; s < batch.tokens_BT.shape()[0]; ++s) {
    const auto tokens = row_of(batch.tokens_BT, s), targets = row_of(batch.targets_BT, s);
    const auto first = std::find(tokens.begin(), tokens.end(), start) - tokens.begin();
    const auto last = std::find(targets.begin(), targets.end(), end) - targets.begin();
    EXPECT_TRUE(std::all_of(targets.begin(), targets.begin() + first, [](int t) { return t < 0; }));
    EXPECT_TRUE(
        std::all_of(targets.begin() + last + 1, targets.end(), [](int t) { return t < 0; }));
    const std::vector<int32_t> answer(targets.begin() + first, targets.begin() + last);
    EXPECT_TRUE(std::equal(answer.begin(), answer.end(), tokens.begin() + first + 1));
    std::vector<int32_t> question(tokens.begin(), tokens.begin() + first);
    if (crosses) {
      EXPECT_EQ(first, 0);
      question = row_of(batch.source_BS, s);
      const auto length = batch.source_lengths_B.data<int32_t>()[s];
      EXPECT_EQ(question[static_cast<size_t>(length - 1)], end);
      question.resize(static_cast<size_t>(length - 1));
    }
    scored += static_cast<int64_t>(answer.size()) + 1;
    all.push_back({tokenizer->decode(question), tokenizer->decode(answer)});
  }
  EXPECT_EQ(batch.scored, scored);
  return all;
}

std::string answer_of(const std::string& kind, const std::string& question) {
  std::string answer = question;
  if (kind == "reverse") std::reverse(answer.begin(), answer.end());
  if (kind == "sort") std::sort(answer.begin(), answer.end());
  if (kind == "recall") {
    const size_t at = question.size() - 1;
    for (size_t i = 0; i < at; i += 2) {
      if (question[i] == question[at]) return question.substr(i + 1, 1);
    }
  }
  if (kind == "addition") {
    const size_t plus = question.find('+');
    answer = std::to_string(std::stoll(question.substr(0, plus)) +
                            std::stoll(question.substr(plus + 1)));
    return std::string(plus + 1 - answer.size(), '0') + answer;
  }
  return answer;
}

class Tasks : public ::testing::TestWithParam<const char*> {};

TEST_P(Tasks, AnswersAreRightInBothLayouts) {
  const std::string kind = GetParam();
  const auto task = objective("kind: " + kind + ", lengths: [4, 9]");
  std::map<size_t, int> lengths;
  std::vector<std::vector<Asked>> both;
  for (const Reader reader : {Reader::kDecoder, Reader::kEncoderDecoder}) {
    task->validate(setting(*task, reader));
    const auto source = task->training({}, setting(*task, reader));
    std::vector<Asked>& all = both.emplace_back();
    for (int64_t step = 0; step < 50; ++step) {
      const Batch batch = batch_at(*source, step);
      for (const Asked& asked : read(*task, batch)) all.push_back(asked);
    }
  }
  for (size_t i = 0; i < both[0].size(); ++i) {
    EXPECT_EQ(both[0][i].answer, answer_of(kind, both[0][i].question));
    EXPECT_EQ(both[0][i].question, both[1][i].question);
    EXPECT_EQ(both[0][i].answer, both[1][i].answer);
    ++lengths[both[0][i].question.size()];
  }
  EXPECT_EQ(lengths.size(), 6u);
}

TEST_P(Tasks, TrainingNeverSeesAnEvaluation) {
  const auto task =
      objective(std::string("kind: ") + GetParam() + ", lengths: [2, 3], evaluation_strings: 200" +
                (std::string(GetParam()) == "addition" ? "" : ", letters: 6"));
  std::set<std::string> trained, evaluated;
  const auto training = task->training({}, setting(*task, Reader::kDecoder));
  for (int64_t step = 0; step < 300; ++step) {
    for (const Asked& asked : read(*task, batch_at(*training, step)))
      trained.insert(asked.question);
  }
  size_t strings = 0;
  std::map<size_t, int> lengths;
  const auto evaluation = task->evaluation({}, setting(*task, Reader::kDecoder), std::nullopt);
  for (int64_t step = 0; step < evaluation->batches(); ++step) {
    for (const Asked& asked : read(*task, batch_at(*evaluation, step))) {
      evaluated.insert(asked.question);
      ++lengths[asked.question.size()];
      ++strings;
    }
  }
  EXPECT_EQ(strings, 200u);
  for (const auto& [length, count] : lengths) EXPECT_EQ(count, 100) << length;
  EXPECT_GT(evaluated.size(), 4u);
  EXPECT_GT(trained.size(), 200u);  // most that there are
  for (const std::string& question : evaluated)
    EXPECT_FALSE(trained.contains(question)) << question;
}

TEST_P(Tasks, EvaluationsAreEqualAndMayBeLonger) {
  const auto task = objective(std::string("kind: ") + GetParam() + ", lengths: [4, 6]");
  ObjectiveSetting other = setting(*task, Reader::kEncoderDecoder);
  other.seed = 17;
  const auto one = task->evaluation({}, setting(*task, Reader::kEncoderDecoder), std::nullopt);
  const auto two = task->evaluation({}, other, std::nullopt);
  ASSERT_EQ(one->batches(), 3 * 21);  // 334 or 333 strings by 16
  for (int64_t step = 0; step < one->batches(); ++step) {
    EXPECT_EQ(numbers_of(batch_at(*one, step)), numbers_of(batch_at(*two, step)));
  }
  const auto longer = task->evaluation({}, other, 12);
  EXPECT_GT(batch_at(*longer, 0).source_BS.shape()[1], batch_at(*one, 62).source_BS.shape()[1]);
  EXPECT_EQ(longer->batches(), 63);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Tasks,
                         ::testing::Values("copy", "reverse", "sort", "recall", "addition"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Recall, AsksAtTheDistance) {
  const auto task = objective("kind: recall, lengths: [5], distance: 2, letters: 4");
  const auto source = task->training({}, setting(*task, Reader::kDecoder));
  for (int64_t step = 0; step < 20; ++step) {
    for (const Asked& asked : read(*task, batch_at(*source, step))) {
      ASSERT_EQ(asked.question.size(), 11u);
      for (size_t pair = 0; pair < 5; ++pair) {
        EXPECT_EQ(asked.question[2 * pair] == asked.question[10], pair == 3) << asked.question;
      }
      EXPECT_EQ(asked.answer, asked.question.substr(7, 1));
    }
  }
  EXPECT_THROW(objective("kind: recall, distance: 9")->validate(setting(*task, Reader::kDecoder)),
               ConfigError);
}

/// A task with one question.
class OneQuestion : public TaskOptions {
 public:
  void ask(uint64_t, int64_t, int32_t* question) const override { *question = 0; }
  void answer(const int32_t*, int64_t, int32_t* answer) const override { *answer = 0; }
};

// It can be held out or not, but not both.
TEST(Task, RefuseTooFewQuestions) {
  int32_t question = 0;
  const bool held_out = is_held_out(&question, 1);
  EXPECT_NO_THROW(ask_until(OneQuestion(), 1, 1, held_out, &question));
  EXPECT_THROW(ask_until(OneQuestion(), 1, 1, !held_out, &question), ConfigError);
}

TEST(Task, RefuseWhatCannotBe) {
  const auto task = objective("kind: copy");
  EXPECT_NE(task->refuses(Reader::kEncoder), "");
  ObjectiveSetting here = setting(*task, Reader::kDecoder);
  here.context = 33;  // 16 + 16 + 1
  EXPECT_NO_THROW(task->validate(here));
  here.context = 32;
  EXPECT_THROW(task->validate(here), ConfigError);
  here.reader = Reader::kEncoderDecoder;
  here.context = 17;
  EXPECT_NO_THROW(task->validate(here));
  for (const char* keys : {"lengths: []", "lengths: [9, 8]", "lengths: [1, 2, 3]"}) {
    EXPECT_THROW(
        objective(std::string("kind: copy, ") + keys)->validate(setting(*task, Reader::kDecoder)),
        ConfigError)
        << keys;
  }
}

}  // namespace
}  // namespace tapemeasure::testing
