// SPDX-License-Identifier: MIT
// What holds for every position method in a decoder: segments equal the whole, cached equals
// uncached, nothing sees the future, and a steady step takes no memory from the system.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/host.h"
#include "tests/layers/small_model.h"

namespace tapemeasure {
namespace {

struct Place {
  const char* backend;
  DType dtype;
  double bound;
};
const Place kPlaces[] = {{"reference", DType::kF64, 0}, {"cpu", DType::kF32, 1e-5}};

class EveryMethod : public testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Methods, EveryMethod, testing::ValuesIn(methods()), test_name);

/// Those that are not added to the embeddings, and so go together with segment memory.
std::vector<Method> methods_with_memory() {
  std::vector<Method> chosen = methods();
  std::erase_if(chosen, [](const Method& method) { return !method.remembers; });
  return chosen;
}
class MethodWithMemory : public testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Methods, MethodWithMemory, testing::ValuesIn(methods_with_memory()),
                         test_name);

/// Those that absolute positions may stand beside.
std::vector<Method> relative_methods() {
  std::vector<Method> chosen = methods();
  std::erase_if(chosen, [](const Method& method) {
    return !method.relative || std::string(method.name) == "none";
  });
  return chosen;
}
class RelativeMethod : public testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Methods, RelativeMethod, testing::ValuesIn(relative_methods()), test_name);

TEST_P(MethodWithMemory, SegmentsWithUnlimitedMemoryEqualTheWhole) {
  for (const char* norm : {"pre", "post"}) {
    const std::string more = std::string("memory: 100, norm_position: ") + norm;
    for (const Place& place : kPlaces) {
      const SmallModel model(small_options(GetParam(), more), place.backend, place.dtype);
      const auto whole = model.hidden(model.tokens(2, 0, 23));
      Memory memory = model.network->memory(*model.backend, model.dtype, 2, 100);
      std::vector<std::vector<double>> parts(2);
      for (const auto& [first, count] : {std::pair{0, 7}, {7, 1}, {8, 15}}) {
        const auto part = model.hidden(model.tokens(2, first, count), MemoryLanes{&memory, 0});
        memory.advance();
        for (int b = 0; b < 2; ++b) parts[b].insert(parts[b].end(), part[b].begin(), part[b].end());
      }
      for (int b = 0; b < 2; ++b) {
        EXPECT_LE(difference(parts[b], whole[b]), place.bound * largest(whole[b]))
            << place.backend << ", " << norm;
      }
    }
  }
}

TEST_P(MethodWithMemory, SameLengthIsAWindowOverTheWhole) {
  for (const Place& place : kPlaces) {
    const SmallModel model(small_options(GetParam(), "memory: 5, same_length: true"), place.backend,
                           place.dtype);
    const auto whole = model.hidden(model.tokens(1, 0, 22))[0];
    Memory memory = model.network->memory(*model.backend, model.dtype, 1, 5);
    std::vector<double> parts;
    for (const auto& [first, count] : {std::pair{0, 3}, {3, 8}, {11, 1}, {12, 10}}) {
      const auto part = model.hidden(model.tokens(1, first, count), MemoryLanes{&memory, 0})[0];
      memory.advance();
      parts.insert(parts.end(), part.begin(), part.end());
    }
    EXPECT_EQ(memory.rows(), 5);
    // A memory that has forgotten its first rows turns them by other angles than the whole does.
    const bool turns = std::string(GetParam().name).starts_with("rope");
    const double bound = std::max(place.bound, turns ? 1e-12 : 0);
    EXPECT_LE(difference(parts, whole), bound * largest(whole)) << place.backend;
  }
}

TEST_P(EveryMethod, CachedEqualsUncachedBelowAtAndBeyondTheTrainedLength) {
  for (const Place& place : kPlaces) {
    const SmallModel model(small_options(GetParam()), place.backend, place.dtype);
    Caches caches = model.network->caches(*model.backend, model.dtype, 2, 30);
    int64_t length = 0;
    for (const int64_t count : {3, 1, 1, 1, 1, 1, 1, 1, 4, 1, 1, 1, 9, 1}) {
      const auto cached = model.hidden(model.tokens(2, length, count), &caches);
      length += count;
      const auto whole = model.hidden(model.tokens(2, 0, length));
      for (int b = 0; b < 2; ++b) {
        const std::vector<double> last(whole[b].end() - count * 8, whole[b].end());
        ASSERT_LE(difference(cached[b], last), place.bound * largest(last))
            << place.backend << " at " << length;
      }
    }
  }
}

TEST_P(EveryMethod, NothingSeesTheFuture) {
  for (const Place& place : kPlaces) {
    const SmallModel model(small_options(GetParam()), place.backend, place.dtype);
    const Tensor tokens = model.tokens(1, 0, 19);
    const auto before = model.hidden(tokens)[0];
    int32_t& changed = tokens.data<int32_t>()[13];
    changed = (changed + 1) % 11;
    const auto after = model.hidden(tokens)[0];
    for (size_t i = 0; i < 13 * 8; ++i) ASSERT_EQ(before[i], after[i]) << place.backend << " " << i;
    EXPECT_NE(before[13 * 8], after[13 * 8]);
    EXPECT_NE(before[18 * 8], after[18 * 8]) << "the last token does not see the 14th";
  }
}

/// One training pass over tokens and their targets; returns the loss.
double pass(SmallModel& model, Tape& tape, const Memory& remembered, int64_t batch, bool backward) {
  Memory memory = remembered;
  Run run(tape, true);
  run.seed = 5;
  run.begin(2, 0);
  const Variable hidden =
      model.network->hidden(run, {.tokens_BT = model.tokens(batch, 40, 6), .lanes = {&memory}});
  const CrossEntropy loss =
      model.network->loss(run, hidden, model.tokens(batch, 41, 6), {.factor = 0.1});
  if (backward) {
    model.store.clear_gradients();
    tape.backward(loss.loss);
    model.store.complete_gradients();
  }
  tape.clear();
  return 0.1 * loss.total;
}

/// A memory that has seen `rows` tokens.
Memory filled(const SmallModel& model, int64_t batch, int64_t rows) {
  Memory memory = model.network->memory(*model.backend, model.dtype, batch, rows);
  if (rows == 0) return memory;
  model.hidden(model.tokens(batch, 0, rows), MemoryLanes{&memory, 0});
  memory.advance();
  return memory;
}

TEST_P(EveryMethod, GradientsAreDirectionalDifferences) {
  for (const char* dropout : {"0", "0.1"}) {
    for (const int64_t rows : {0, 1, 6, 18}) {
      if (rows > 0 && !GetParam().remembers) continue;
      const std::string more = std::string("activation: silu, dropout: ") + dropout;
      SmallModel model(small_options(GetParam(), more), "reference", DType::kF64);
      const Memory memory = filled(model, 2, rows);
      Tape tape;
      pass(model, tape, memory, 2, true);
      for (const Parameter& parameter : model.store.all()) {
        const std::vector<double> start = to_doubles(parameter.value);
        const std::vector<double> gradient = to_doubles(parameter.gradient);
        const uint64_t key = random_key(1, Stream::kSampling, 0, hash_text(parameter.name));
        double slope = 0, size = 0;
        for (size_t i = 0; i < start.size(); ++i) {
          const double direction = random_normal(key, i);
          slope += gradient[i] * direction;
          size += std::abs(gradient[i] * direction);
        }
        const auto at = [&](double h) {
          double* values = parameter.value.data<double>();
          for (size_t i = 0; i < start.size(); ++i)
            values[i] = start[i] + h * random_normal(key, i);
          Tape still(false);
          const double loss = pass(model, still, memory, 2, false);
          std::copy(start.begin(), start.end(), values);
          return loss;
        };
        const double h = 1e-4;
        const double measured = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
        ASSERT_NEAR(slope, measured, 1e-8 * std::max(size, 1e-2))
            << parameter.name << ", dropout " << dropout << ", memory " << rows;
      }
    }
  }
}

TEST_P(EveryMethod, EveryParameterButADeadKeyBiasHasAGradient) {
  SmallModel model(small_options(GetParam()), "reference", DType::kF64);
  Tape tape;
  pass(model, tape, filled(model, 2, 0), 2, true);
  for (const Parameter& parameter : model.store.all()) {
    const double top = largest(to_doubles(parameter.gradient));
    // A row of logits that moves as a whole changes nothing (methods without a term in k alone);
    // so does a bias on what queries look up in DeBERTa's table.
    const bool key_bias = parameter.name.ends_with("attention.key.bias");
    const bool dead = (key_bias && !GetParam().live_key_bias) ||
                      parameter.name.ends_with("attention.position.key.bias");
    if (dead) {
      EXPECT_LE(top, 1e-15) << parameter.name;
    } else {
      EXPECT_GE(top, 1e-7) << parameter.name;
    }
  }
}

TEST_P(EveryMethod, SteadyStepsTakeNoMemoryFromTheSystem) {
  SmallModel model(small_options(GetParam(), "dropout: 0.1"), "cpu", DType::kF32);
  const Memory memory = filled(model, 2, GetParam().remembers ? 6 : 0);
  Tape tape;
  for (int step = 0; step < 2; ++step) pass(model, tape, memory, 2, true);
  const int64_t requests = model.backend->pool_requests();
  for (int step = 0; step < 3; ++step) pass(model, tape, memory, 2, true);
  EXPECT_EQ(model.backend->pool_requests(), requests);
}

TEST_P(RelativeMethod, AbsolutePositionsBesideIt) {
  std::string position = GetParam().position;
  position.insert(position.size() - 1, ", absolute: learned");
  const Method method{GetParam().name, position.c_str()};
  const SmallModel model(small_options(method), "reference", DType::kF64);
  const auto& all = model.store.all();
  const auto it = std::find_if(all.begin(), all.end(), [](const Parameter& parameter) {
    return parameter.name == "position.absolute.weight";
  });
  ASSERT_NE(it, all.end());
  EXPECT_EQ(it->shape, (Shape{8, 8}));
  EXPECT_EQ(model.network->longest(), 8);
  const SmallModel without(small_options(GetParam()), "reference", DType::kF64);
  EXPECT_NE(model.hidden(model.tokens(1, 0, 8)), without.hidden(without.tokens(1, 0, 8)));
  EXPECT_THROW(small_options(method, "memory: 4"), ConfigError);
}

}  // namespace
}  // namespace tapemeasure
