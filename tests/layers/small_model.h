// SPDX-License-Identifier: MIT
// Small models made from YAML, for tests that hold for every position method.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "layers/language_model.h"

namespace tapemeasure {

/// A method under test: a name for messages and the `position` section.
struct Method {
  const char* name;
  std::string position;
  bool remembers = true;  ///< goes with segment memory
  bool relative = true;   ///< its attention depends on offsets alone
  bool live_key_bias = false;
};
/// Every method, with the options that change what it computes; one that is new comes as it is.
std::vector<Method> methods();
inline std::string test_name(const testing::TestParamInfo<Method>& info) { return info.param.name; }

/// Reads and checks a `model:` section. Throws ConfigError.
ModelOptions model_options(const std::string& yaml);
/// Two heads of 4, two layers, 11 tokens, and this position.
ModelOptions small_options(const Method& method, const std::string& more = "");

struct SmallModel {
  SmallModel(const ModelOptions& options, const char* backend_name, DType dtype);
  std::unique_ptr<Backend> backend;
  DType dtype;
  ParameterStore store;
  std::unique_ptr<LanguageModel> network;

  /// Tokens [B, T] that depend on where they stand, from `first` on.
  Tensor tokens(int64_t batch, int64_t first, int64_t count) const;
  /// Hidden states without gradients, as [B][T * D].
  std::vector<std::vector<double>> hidden(const Tensor& tokens_BT, Caches* caches = nullptr) const;
  std::vector<std::vector<double>> hidden(const Tensor& tokens_BT, const MemoryLanes& lanes) const;
  std::vector<std::vector<double>> hidden(const ModelInput& input) const;
};

/// The largest |a - b|, and the largest |b|.
double difference(const std::vector<double>& a, const std::vector<double>& b);
double largest(const std::vector<double>& a);

}  // namespace tapemeasure
