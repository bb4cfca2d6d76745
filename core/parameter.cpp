// SPDX-License-Identifier: MIT
#include "core/parameter.h"

#include "core/error.h"
#include "core/random.h"

namespace tapemeasure {

Parameter& ParameterStore::add(Parameter parameter) {
  check<Error>(find(parameter.name) == nullptr, "parameter {} exists already", parameter.name);
  check<Error>(!values_.defined(), "parameter {} comes too late: the store is laid out",
               parameter.name);
  parameter.store = this;
  parameter.index = static_cast<int64_t>(parameters_.size());
  return parameters_.emplace_back(std::move(parameter));
}

namespace {

/// Draws the initial values in double, on the host.
std::vector<double> draw(const Parameter& parameter, uint64_t seed) {
  const uint64_t key = random_key(seed, Stream::kInitialisation, 0, hash_text(parameter.name));
  std::vector<double> values(static_cast<size_t>(parameter.shape.count()), parameter.init.value);
  const double size = parameter.init.value;
  if (parameter.init.kind == Init::kValues) return parameter.init.given;
  if (parameter.init.kind == Init::kUniform) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = size * (2 * random_uniform(key, i) - 1);
  } else if (parameter.init.kind == Init::kNormal) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = parameter.init.mean + size * random_normal(key, i);
  }
  return values;
}

template <class T>
void store(const std::vector<double>& values, T* out) {
  for (size_t i = 0; i < values.size(); ++i) out[i] = static_cast<T>(values[i]);
}

}  // namespace

void ParameterStore::allocate(Backend& backend, DType dtype, uint64_t seed) {
  check<Error>(backend.host_memory(), "parameters start in host memory");
  constexpr int64_t kAlign = 16;  // elements: 64 bytes of f32
  int64_t size = 0;
  for (Parameter& parameter : parameters_) {
    if (!parameter.adjacent) size = (size + kAlign - 1) / kAlign * kAlign;
    parameter.offset = size;
    size += parameter.shape.count();
  }
  values_ = zeros(backend, {size}, dtype);
  gradients_ = zeros(backend, {size}, dtype);
  for (Parameter& parameter : parameters_) {
    const int64_t count = parameter.shape.count();
    parameter.value = values_.rows(parameter.offset, count).reshaped(parameter.shape);
    parameter.gradient = gradients_.rows(parameter.offset, count).reshaped(parameter.shape);
    const std::vector<double> start = draw(parameter, seed);
    if (dtype == DType::kF64) store(start, parameter.value.data<double>());
    if (dtype == DType::kF32) store(start, parameter.value.data<float>());
  }
}

Parameter* ParameterStore::find(const std::string& name) {
  for (Parameter& parameter : parameters_) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

Tensor ParameterStore::stacked(const Tensor& buffer, const Parameter& first, int count) const {
  int64_t rows = 0;
  for (int i = 0; i < count; ++i) rows += parameters_[first.index + i].shape[0];
  const Shape shape = first.shape.with_first(rows);
  return buffer.rows(first.offset, shape.count()).reshaped(shape);
}

Tensor ParameterStore::stacked_values(const Parameter& first, int count) const {
  return count == 1 ? first.value : stacked(values_, first, count);
}

Into ParameterStore::stacked_gradients(const Parameter& first, int count) {
  int written = 0;
  for (int i = 0; i < count; ++i) written += parameters_[first.index + i].has_gradient;
  for (int i = 0; i < count; ++i) {
    Parameter& parameter = parameters_[first.index + i];
    if (written > 0 && !parameter.has_gradient) {
      gradients_.backend().fill(parameter.gradient, 0);
    }
    parameter.has_gradient = true;
  }
  return {count == 1 ? first.gradient : stacked(gradients_, first, count),
          written > 0 ? Write::kAdd : Write::kSet};
}

int64_t ParameterStore::count() const {
  int64_t count = 0;
  for (const Parameter& parameter : parameters_) count += parameter.shape.count();
  return count;
}

void ParameterStore::clear_gradients() {
  for (Parameter& parameter : parameters_) parameter.has_gradient = false;
}

void ParameterStore::complete_gradients() {
  for (Parameter& parameter : parameters_) {
    if (!parameter.has_gradient) gradients_.backend().fill(parameter.gradient, 0);
    parameter.has_gradient = true;
  }
}

Scope Scope::operator/(const std::string& name) const {
  return Scope(*store_, path_.empty() ? name : path_ + "." + name);
}

Parameter& Scope::parameter(const std::string& name, const Shape& shape, Init init, Role role,
                            bool adjacent) const {
  Parameter parameter;
  parameter.name = (*this / name).path();
  parameter.shape = shape;
  parameter.init = init;
  parameter.role = role;
  parameter.adjacent = adjacent;
  return store_->add(std::move(parameter));
}

}  // namespace tapemeasure
