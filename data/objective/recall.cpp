// SPDX-License-Identifier: MIT
// Associative recall (Graves, Wayne & Danihelka 2014, section 4.3, in letters): a question is
// `length` pairs of a letter and what it stands for, and one of the letters again: "a3b1c2" and "b"
// is answered by "1". Here values are letters as well. The asked letter stands in one pair only,
// `distance` pairs from the end of them.
#include <algorithm>

#include "core/error.h"
#include "core/random.h"
#include "data/objective/task.h"

namespace tapemeasure {

namespace {

class RecallOptions : public TaskOptions {
 public:
  void visit(Fields& f) override {
    visit_letters(f);
    f.integer("distance", distance_, {0, 1 << 16},
              "the asked pair, counted from the last one, which is 1; 0: any", "pairs");
    TaskOptions::visit(f);
  }
  void validate(const ObjectiveSetting& setting) const override {
    check<ConfigError>(distance_ <= shortest(),
                       "objective.distance {} is beyond the {} pairs of the shortest question",
                       distance_, shortest());
    TaskOptions::validate(setting);
  }

  int64_t fewest() const override { return std::max<int64_t>(1, distance_); }
  int64_t question_size(int64_t length) const override { return 2 * length + 1; }
  int64_t answer_size(int64_t) const override { return 1; }

  void ask(uint64_t key, int64_t length, int32_t* question) const override {
    const auto letters = static_cast<uint64_t>(letters_);
    const auto asked = static_cast<int32_t>(random_below(key, 0, letters));
    const auto any = static_cast<int64_t>(random_below(key, 1, static_cast<uint64_t>(length)));
    const int64_t place = distance_ > 0 ? length - distance_ : any;
    for (int64_t pair = 0; pair < length; ++pair) {
      const auto draw = static_cast<uint64_t>(2 + 2 * pair);
      const auto other = static_cast<int32_t>(1 + random_below(key, draw, letters - 1));
      question[2 * pair] = pair == place ? asked : (asked + other) % static_cast<int32_t>(letters);
      question[2 * pair + 1] = static_cast<int32_t>(random_below(key, draw + 1, letters));
    }
    question[2 * length] = asked;
  }

  void answer(const int32_t* question, int64_t length, int32_t* answer) const override {
    for (int64_t pair = 0; pair < length; ++pair) {
      if (question[2 * pair] == question[2 * length]) *answer = question[2 * pair + 1];
    }
  }

 private:
  int64_t distance_ = 0;
};

}  // namespace

std::unique_ptr<ObjectiveOptions> make_recall_objective() {
  return std::make_unique<RecallOptions>();
}

}  // namespace tapemeasure
