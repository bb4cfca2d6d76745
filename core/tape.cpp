// SPDX-License-Identifier: MIT
#include "core/tape.h"

#include "core/error.h"
#include "core/parameter.h"

namespace tapemeasure {

Variable Variable::reshaped(const Shape& shape) const {
  Variable variable = *this;
  variable.value_ = value_.reshaped(shape);
  return variable;
}

bool Gradients::wanted(int input) const { return inputs_[input] >= 0; }

Into Gradients::input(int input) {
  return tape_.target(inputs_[input], shapes_[input], output_.dtype(), output_.backend());
}

void Gradients::pass(int input) {
  Tape::Slot& slot = tape_.slots_[inputs_[input]];
  if (slot.gradient.defined() || slot.outside.defined() || slot.parameter != nullptr) {
    output_.backend().scale(1, output_, this->input(input));
  } else {
    // Shared until somebody adds to it; `target` then makes a copy first.
    slot.gradient = output_.reshaped(shapes_[input]);
  }
}

Tape::Tape(bool recording, Trace* trace) : recording_(recording), trace_(trace) {}
Tape::~Tape() { clear(); }

Variable Tape::leaf(Parameter& first, int count) {
  check<ShapeError>(first.value.defined(), "parameter {} is not allocated", first.name);
  Tensor value = first.store->stacked_values(first, count);
  if (!recording_) return Variable(std::move(value));
  Slot slot;
  slot.parameter = &first;
  slot.parameters = count;
  slots_.push_back(std::move(slot));
  return Variable(std::move(value), this, static_cast<int>(slots_.size()) - 1);
}

Variable Tape::input(Tensor value) {
  if (!recording_) return Variable(std::move(value));
  slots_.emplace_back();
  return Variable(std::move(value), this, static_cast<int>(slots_.size()) - 1);
}

Variable Tape::input(Tensor value, Into gradient) {
  if (!gradient.defined()) return Variable(std::move(value));
  Variable variable = input(std::move(value));
  if (variable.tracked()) slots_[variable.slot()].outside = std::move(gradient);
  return variable;
}

Tensor Tape::gradient(const Variable& input) const {
  const Slot& slot = slots_.at(input.slot());
  if (slot.gradient.defined()) return slot.gradient.reshaped(input.shape());
  return zeros(input.value().backend(), input.shape(), input.value().dtype());
}

Variable Tape::append(Record record, Tensor output, std::span<const Variable> inputs) {
  record.first_input = static_cast<int>(inputs_.size());
  record.inputs = static_cast<int>(inputs.size());
  for (const Variable& input : inputs) {
    inputs_.push_back(input.slot());
    input_shapes_.push_back(input.shape());
  }
  record.output = static_cast<int>(slots_.size());
  slots_.emplace_back();
  records_.push_back(record);
  return Variable(std::move(output), this, record.output);
}

Into Tape::target(int slot_index, const Shape& shape, DType dtype, Backend& backend) {
  Slot& slot = slots_[slot_index];
  if (slot.parameter != nullptr) {
    Into into = slot.parameter->store->stacked_gradients(*slot.parameter, slot.parameters);
    into.tensor = into.tensor.reshaped(shape);
    return into;
  }
  if (slot.outside.defined()) {
    const Into into{slot.outside.tensor.reshaped(shape), slot.outside.write};
    slot.outside.write = Write::kAdd;
    return into;
  }
  if (!slot.gradient.defined()) {
    slot.gradient = empty(backend, shape, dtype);
    return {slot.gradient, Write::kSet};
  }
  if (slot.gradient.shared()) {
    const Tensor copy = empty_like(slot.gradient);
    backend.scale(1, slot.gradient, copy);
    slot.gradient = copy;
  }
  return {slot.gradient.reshaped(shape), Write::kAdd};
}

void Tape::backward(const Variable& loss, double scale) {
  check<ShapeError>(loss.tracked() && loss.value().count() == 1,
                    "backward: wants one tracked element, got {}", loss.shape());
  const Tensor start = empty_like(loss.value());
  start.backend().fill(start, scale);
  backward(loss, start);
}

void Tape::backward(const Variable& output, Tensor gradient) {
  check<ShapeError>(output.tracked() && gradient.shape() == output.shape(),
                    "backward: wants a tracked output and a gradient like it, got {} and {}",
                    output.shape(), gradient.shape());
  slots_[output.slot()].gradient = std::move(gradient);
  while (!records_.empty()) {
    Record& record = records_.back();
    Tensor output = std::move(slots_[record.output].gradient);
    slots_[record.output].gradient = Tensor();
    if (output.defined()) {
      check<Error>(record.closure != nullptr, "{} has no gradient", record.name);
      Gradients gradients(*this, {inputs_.data() + record.first_input, size_t(record.inputs)},
                          {input_shapes_.data() + record.first_input, size_t(record.inputs)},
                          output.reshaped(record.output_shape));
      output = Tensor();
      const Timed timed(trace_, record.name, "gradient of ");
      record.run(record.closure, gradients);
    }
    if (record.closure != nullptr) record.destroy(record.closure, closures_);
    records_.pop_back();
  }
  for (Slot& slot : slots_) {
    if (slot.outside.defined() && slot.outside.write == Write::kSet) {
      slot.outside.tensor.backend().fill(slot.outside, 0);
    }
  }
}

void Tape::clear() {
  for (Record& record : records_) {
    if (record.closure != nullptr) record.destroy(record.closure, closures_);
  }
  records_.clear();
  inputs_.clear();
  input_shapes_.clear();
  slots_.clear();
}

std::vector<std::string> Tape::names() const {
  std::vector<std::string> names;
  for (const Record& record : records_) names.emplace_back(record.name);
  return names;
}

}  // namespace tapemeasure
