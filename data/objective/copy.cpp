// SPDX-License-Identifier: MIT
// Copy a string: "hello" is answered by "hello".
#include <algorithm>

#include "data/objective/task.h"

namespace tapemeasure {

namespace {

class CopyOptions : public TaskOptions {
 public:
  void visit(Fields& f) override {
    visit_letters(f);
    TaskOptions::visit(f);
  }
  void answer(const int32_t* question, int64_t length, int32_t* answer) const override {
    std::copy_n(question, length, answer);
  }
};

}  // namespace

std::unique_ptr<ObjectiveOptions> make_copy_objective() { return std::make_unique<CopyOptions>(); }

}  // namespace tapemeasure
