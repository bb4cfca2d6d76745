// SPDX-License-Identifier: MIT
// Turn a string round: "hello" is answered by "olleh".
#include <algorithm>

#include "data/objective/task.h"

namespace tapemeasure {

namespace {

class ReverseOptions : public TaskOptions {
 public:
  void visit(Fields& f) override {
    visit_letters(f);
    TaskOptions::visit(f);
  }
  void answer(const int32_t* question, int64_t length, int32_t* answer) const override {
    std::reverse_copy(question, question + length, answer);
  }
};

}  // namespace

std::unique_ptr<ObjectiveOptions> make_reverse_objective() {
  return std::make_unique<ReverseOptions>();
}

}  // namespace tapemeasure
