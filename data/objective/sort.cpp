// SPDX-License-Identifier: MIT
// Sort the letters of a string: "hello" is answered by "ehllo".
#include <algorithm>

#include "data/objective/task.h"

namespace tapemeasure {

namespace {

class SortOptions : public TaskOptions {
 public:
  void visit(Fields& f) override {
    visit_letters(f);
    TaskOptions::visit(f);
  }
  void answer(const int32_t* question, int64_t length, int32_t* answer) const override {
    std::partial_sort_copy(question, question + length, answer, answer + length);
  }
};

}  // namespace

std::unique_ptr<ObjectiveOptions> make_sort_objective() { return std::make_unique<SortOptions>(); }

}  // namespace tapemeasure
