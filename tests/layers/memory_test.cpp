// SPDX-License-Identifier: MIT
// Segment memory as a store: what it keeps, for which sequences, and over a stop.
#include "layers/memory.h"

#include <map>

#include "core/error.h"
#include "core/host.h"
#include "tests/layers/small_model.h"

namespace tapemeasure {
namespace {

class MemoryTest : public testing::Test {
 protected:
  /// Rows numbered 10 * sequence + position, of width 1.
  Tensor rows(int64_t first_sequence, int64_t sequences, int64_t first, int64_t count) const {
    std::vector<double> values;
    for (int64_t b = first_sequence; b < first_sequence + sequences; ++b) {
      for (int64_t t = first; t < first + count; ++t) values.push_back(double(10 * b + t));
    }
    return to_tensor(*backend_, {sequences, count, 1}, DType::kF32, values);
  }
  Memory make(int64_t length) const {
    return Memory(*backend_, DType::kF32,
                  {.layers = 1, .sequences = 3, .width = 1, .length = length});
  }
  std::unique_ptr<Backend> backend_ = make_backend("cpu");
};

using Rows = std::vector<double>;

TEST_F(MemoryTest, KeepsTheLastRowsOfEachSequence) {
  Memory memory = make(3);
  EXPECT_FALSE(memory.layer(0, 0, 3).defined());
  memory.keep(0, 0, rows(0, 3, 0, 2));
  EXPECT_EQ(memory.rows(), 0) << "not before all sequences are done";
  memory.advance();
  EXPECT_EQ(to_doubles(memory.layer(0, 0, 3)), (Rows{0, 1, 10, 11, 20, 21}));
  memory.keep(0, 0, rows(0, 3, 2, 2));
  memory.advance();
  EXPECT_EQ(to_doubles(memory.layer(0, 0, 3)), (Rows{1, 2, 3, 11, 12, 13, 21, 22, 23}));
  memory.keep(0, 0, rows(0, 3, 4, 5));
  memory.advance();
  EXPECT_EQ(to_doubles(memory.layer(0, 1, 1)), (Rows{16, 17, 18}));
  memory.clear();
  EXPECT_EQ(memory.rows(), 0);
}

TEST_F(MemoryTest, PassesOverSomeSequencesMakeTheSameMemory) {
  Memory memory = make(3);
  for (int64_t t = 0; t < 8; t += 2) {
    const Tensor before = memory.layer(0, 0, 3);
    const Rows old = before.defined() ? to_doubles(before) : Rows();
    memory.keep(0, 0, rows(0, 2, t, 2));
    if (before.defined()) {
      EXPECT_EQ(to_doubles(memory.layer(0, 0, 3)), old);
    }
    memory.keep(0, 2, rows(2, 1, t, 2));
    memory.advance();
  }
  EXPECT_EQ(to_doubles(memory.layer(0, 0, 3)), (Rows{5, 6, 7, 15, 16, 17, 25, 26, 27}));
}

TEST_F(MemoryTest, ALengthOfZeroKeepsNothing) {
  Memory memory = make(0);
  memory.keep(0, 0, rows(0, 3, 0, 2));
  memory.advance();
  EXPECT_FALSE(memory.layer(0, 0, 3).defined());
}

TEST_F(MemoryTest, RefusesSequencesThatItDoesNotHave) {
  Memory memory = make(2);
  EXPECT_THROW(memory.keep(0, 2, rows(2, 2, 0, 2)), ShapeError);
}

/// State in a map.
class Shelf : public StateVisitor {
 public:
  explicit Shelf(bool is_loading) : loading_(is_loading) {}
  bool loading() const override { return loading_; }
  void tensor(const std::string& name, const Tensor& value) override {
    if (!loading_) tensors[name] = to_doubles(value);
    if (!loading_) return;
    ASSERT_EQ(tensors.at(name).size(), static_cast<size_t>(value.count()));
    for (int64_t i = 0; i < value.count(); ++i) {
      value.data<float>()[i] = static_cast<float>(tensors.at(name)[static_cast<size_t>(i)]);
    }
  }
  void integer(const std::string& name, int64_t& value) override {
    loading_ ? value = integers.at(name) : integers[name] = value;
  }
  void real(const std::string&, double&) override {}
  void text(const std::string&, std::string&) override {}
  std::map<std::string, Rows> tensors;
  std::map<std::string, int64_t> integers;

 private:
  bool loading_;
};

TEST_F(MemoryTest, ComesBackFilledAndEmpty) {
  for (const int64_t fed : {0, 2, 5}) {
    Memory memory = make(4);
    if (fed > 0) {
      memory.keep(0, 0, rows(0, 3, 0, fed));
      memory.advance();
    }
    Shelf saved(false), loaded(true);
    memory.visit_state(saved);
    EXPECT_EQ(saved.tensors.count("memory/0"), fed > 0);
    loaded.tensors = saved.tensors;
    loaded.integers = saved.integers;
    Memory again = make(4);
    again.keep(0, 0, rows(0, 3, 3, 3));
    again.advance();
    again.visit_state(loaded);
    EXPECT_EQ(again.rows(), memory.rows());
    if (fed > 0) {
      EXPECT_EQ(to_doubles(again.layer(0, 0, 3)), to_doubles(memory.layer(0, 0, 3)));
    }
  }
}

}  // namespace
}  // namespace tapemeasure
