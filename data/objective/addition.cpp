// SPDX-License-Identifier: MIT
// Add two numbers of `length` digits: "27+85" is answered by "112", one digit more than the numbers
// have, with a leading 0 where there is no carry (Kazemnejad et al. 2023, section 4).
#include "core/random.h"
#include "data/objective/task.h"

namespace tapemeasure {

namespace {

constexpr int32_t kPlus = 0, kZero = 1;  // ids in the order of code points

class AdditionOptions : public TaskOptions {
 public:
  int64_t question_size(int64_t length) const override { return 2 * length + 1; }
  int64_t answer_size(int64_t length) const override { return length + 1; }

  void ask(uint64_t key, int64_t length, int32_t* question) const override {
    for (int64_t i = 0; i < 2 * length + 1; ++i) {
      question[i] = kZero + static_cast<int32_t>(random_below(key, static_cast<uint64_t>(i), 10));
    }
    question[length] = kPlus;
  }

  void answer(const int32_t* question, int64_t length, int32_t* answer) const override {
    int32_t carry = 0;
    for (int64_t i = length - 1; i >= 0; --i) {
      const int32_t sum = question[i] - kZero + question[length + 1 + i] - kZero + carry;
      answer[i + 1] = kZero + sum % 10;
      carry = sum / 10;
    }
    answer[0] = kZero + carry;
  }

 protected:
  std::string alphabet() const override { return "+0123456789"; }
};

}  // namespace

std::unique_ptr<ObjectiveOptions> make_addition_objective() {
  return std::make_unique<AdditionOptions>();
}

}  // namespace tapemeasure
