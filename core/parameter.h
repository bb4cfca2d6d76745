// SPDX-License-Identifier: MIT
// Parameters and where they come from. A layer asks a Scope for its parameters in its constructor;
// the store lays all of them out in one buffer (and their gradients in another) once the model is
// built, so layers hold no registering, naming or saving code.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/backend.h"
#include "core/tensor.h"

namespace tapemeasure {

/// How a parameter starts. Drawn in double from (seed, name), then rounded.
struct Init {
  enum Kind { kConstant, kUniform, kNormal, kValues } kind = kConstant;
  double value = 0;  ///< the constant, the bound of U(-b, b), the deviation of N(mean, s^2)
  double mean = 0;   ///< of a normal
  std::vector<double> given = {};  ///< all values, one by one
  static Init zeros() { return {kConstant, 0, 0, {}}; }
  static Init ones() { return {kConstant, 1, 0, {}}; }
  static Init uniform(double bound) { return {kUniform, bound, 0, {}}; }
  static Init normal(double deviation, double mean = 0) { return {kNormal, deviation, mean, {}}; }
  static Init values(std::vector<double> given) { return {kValues, 0, 0, std::move(given)}; }
};

/// What a parameter is, for decay groups and for counting parts.
enum class Role { kLinear, kBias, kNorm, kEmbedding, kPosition };

class ParameterStore;

struct Parameter {
  std::string name;  ///< dotted path: "blocks.3.attention.query.weight"
  Shape shape;
  Init init;
  Role role = Role::kLinear;
  bool adjacent = false;  ///< lies directly behind its predecessor
  ParameterStore* store = nullptr;
  int64_t index = 0;          ///< in creation order
  int64_t offset = 0;         ///< first element in the store's buffers
  Tensor value, gradient;     ///< views of the store's buffers, once allocated
  bool has_gradient = false;  ///< something was written into `gradient` since clear_gradients()
};

/// All parameters of a model, in creation order.
class ParameterStore {
 public:
  ParameterStore() = default;
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  /// Adds a parameter; the reference stays valid. Throws Error when the name is taken.
  Parameter& add(Parameter parameter);
  /// Lays out values and gradients and draws the initial values. Call once, after the model is
  /// built.
  void allocate(Backend& backend, DType dtype, uint64_t seed);

  std::deque<Parameter>& all() { return parameters_; }
  const std::deque<Parameter>& all() const { return parameters_; }
  /// nullptr if there is none of that name.
  Parameter* find(const std::string& name);
  /// `count` parameters that lie side by side, beginning with `first`, stacked along axis 0.
  Tensor stacked_values(const Parameter& first, int count) const;
  /// Their gradients, likewise. `Write` says whether all of them were unwritten (set) or not (add;
  /// those that were unwritten are zero now). All count as written afterwards.
  Into stacked_gradients(const Parameter& first, int count);

  /// Number of elements of all parameters (without padding).
  int64_t count() const;
  /// All values and all gradients, one after the other, with zeros between parameters.
  const Tensor& values() const { return values_; }
  const Tensor& gradients() const { return gradients_; }
  /// Marks every gradient as unwritten: the next write sets it.
  void clear_gradients();
  /// Fills the gradients that nothing was written into with zeros.
  void complete_gradients();

 private:
  Tensor stacked(const Tensor& buffer, const Parameter& first, int count) const;
  std::deque<Parameter> parameters_;
  Tensor values_, gradients_;
};

/// A place in the dotted hierarchy that hands out parameters.
class Scope {
 public:
  explicit Scope(ParameterStore& store, std::string path = "")
      : store_(&store), path_(std::move(path)) {}
  /// The place below: Scope / "blocks" / 3.
  Scope operator/(const std::string& name) const;
  Scope operator/(int64_t index) const { return *this / std::to_string(index); }
  /// A new parameter `path.name`. `adjacent` lays it directly behind the one before.
  Parameter& parameter(const std::string& name, const Shape& shape, Init init, Role role,
                       bool adjacent = false) const;
  const std::string& path() const { return path_; }
  /// The scope at the root of the hierarchy: for what layers share.
  Scope root() const { return Scope(*store_); }

 private:
  ParameterStore* store_;
  std::string path_;
};

}  // namespace tapemeasure
