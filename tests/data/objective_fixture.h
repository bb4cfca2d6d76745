// SPDX-License-Identifier: MIT
// Objectives as a config chooses them, on texts in memory.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/config/config.h"
#include "core/random.h"
#include "data/objective/objective.h"

namespace tapemeasure::testing {

/// An objective from the YAML of its section.
inline std::shared_ptr<ObjectiveOptions> objective(const std::string& section) {
  struct Section {
    Chosen<ObjectiveOptions> objective{"causal", nullptr};
    void visit(Fields& f) { f.kind("objective", objective, objectives(), "an objective"); }
  } options;
  Config::parse("objective: {" + section + "}\n", "objective.yaml").into(options);
  return options.objective.options;
}

/// Tokens that do not repeat themselves, and the part that they are.
struct RandomText {
  std::vector<uint32_t> ids;
  Part part;

  RandomText(int64_t size, int64_t vocabulary) {
    for (int64_t t = 0; t < size; ++t) {
      const auto index = static_cast<uint64_t>(t);
      ids.push_back(
          static_cast<uint32_t>(random_below(99, index, static_cast<uint64_t>(vocabulary))));
    }
    part = {TokenSpan(ids.data(), 4, size, vocabulary), {}, "a text"};
  }
  RandomText(const RandomText&) = delete;
};

inline Backend& test_backend() {
  static const std::unique_ptr<Backend> backend = make_backend("reference", 1);
  return *backend;
}

inline Batch batch_at(const BatchSource& source, int64_t step) {
  Batch batch;
  source.at(step, test_backend(), batch);
  return batch;
}

/// Row `row` of an i32 matrix, or all of a vector.
inline std::vector<int32_t> row_of(const Tensor& matrix, int64_t row) {
  const int64_t width = matrix.shape()[-1];
  const int32_t* values = matrix.data<int32_t>() + row * width;
  return {values, values + width};
}

/// All numbers of a batch, for comparison.
inline std::vector<int32_t> numbers_of(const Batch& batch) {
  std::vector<int32_t> all;
  for (const Tensor* tensor : {&batch.tokens_BT, &batch.targets_BT, &batch.lengths_B,
                               &batch.prefix_B, &batch.source_BS, &batch.source_lengths_B}) {
    if (!tensor->defined()) continue;
    const int32_t* values = tensor->data<int32_t>();
    all.push_back(static_cast<int32_t>(tensor->count()));
    all.insert(all.end(), values, values + tensor->count());
  }
  return all;
}

}  // namespace tapemeasure::testing
