// SPDX-License-Identifier: MIT
// The tape: reverse-mode differentiation of what was executed. A Variable is a tensor and its slot
// on a tape. Execution order is topological order, so `backward` walks the records from the end and
// frees each as it goes. Closures hold tensors, never variables; there is no global state.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/backend.h"
#include "core/tensor.h"
#include "core/trace.h"

namespace tapemeasure {

class Tape;
struct Parameter;

/// A value that ops take and give. Without a slot it is a constant: nothing flows into it.
class Variable {
 public:
  Variable() = default;
  /// A constant.
  explicit Variable(Tensor value) : value_(std::move(value)) {}

  const Tensor& value() const { return value_; }
  const Shape& shape() const { return value_.shape(); }
  bool defined() const { return value_.defined(); }
  /// True if a gradient can flow into it.
  bool tracked() const { return slot_ >= 0; }
  Tape* tape() const { return tape_; }
  int slot() const { return slot_; }
  /// The same elements under another shape: no new record.
  Variable reshaped(const Shape& shape) const;
  /// The same value, cut off from the tape.
  Variable detached() const { return Variable(value_); }

 private:
  friend class Tape;
  Variable(Tensor value, Tape* tape, int slot)
      : value_(std::move(value)), tape_(tape), slot_(slot) {}
  Tensor value_;
  Tape* tape_ = nullptr;
  int slot_ = -1;
};

/// What a record's backward sees: the gradient of its output, and where its inputs' go.
class Gradients {
 public:
  /// True if input i needs a gradient; the others must not be written.
  bool wanted(int input) const;
  /// The gradient of the output, of the output's shape.
  const Tensor& output() const { return output_; }
  /// Where to write the gradient of input i. Ask once per input, then write all of it.
  Into input(int input);
  /// The gradient of input i is the output's own: shared where possible, added otherwise.
  void pass(int input);

 private:
  friend class Tape;
  Gradients(Tape& tape, std::span<const int> inputs, std::span<const Shape> shapes, Tensor output)
      : tape_(tape), inputs_(inputs), shapes_(shapes), output_(std::move(output)) {}
  Tape& tape_;
  std::span<const int> inputs_;
  std::span<const Shape> shapes_;
  Tensor output_;
};

class Tape {
 public:
  /// A tape that does not record gives values only (evaluation, generation). `trace`, if there is
  /// one, outlives it and is told of each record's backward.
  explicit Tape(bool recording = true, Trace* trace = nullptr);
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  bool recording() const { return recording_; }
  Trace* trace() const { return trace_; }

  /// The leaf of `count` parameters that lie side by side, beginning with `first`: their values as
  /// one tensor, stacked along axis 0. Gradients go to the parameters' own buffers.
  Variable leaf(Parameter& first, int count = 1);
  /// A leaf whose gradient the tape keeps; read it with `gradient` after backward (tests).
  Variable input(Tensor value);
  /// A leaf whose gradient goes where `gradient` says: set or added by the first who writes, added
  /// by the others, zeros if nobody does. Undefined: a constant.
  Variable input(Tensor value, Into gradient);
  /// The gradient that reached an `input`; zeros if none did.
  Tensor gradient(const Variable& input) const;

  /// Appends an op: `output` was computed from `inputs`. `backward` is called with a Gradients&
  /// once the output's gradient is complete; nullptr says that the op has none, and backward
  /// through it throws. Untracked inputs cost nothing. `name` must outlive the tape.
  template <class F>
  Variable record(const char* name, Tensor output, std::initializer_list<Variable> inputs,
                  F backward) {
    return record(name, std::move(output), std::span<const Variable>(inputs.begin(), inputs.size()),
                  std::move(backward));
  }
  template <class F>
  Variable record(const char* name, Tensor output, std::span<const Variable> inputs, F backward);

  /// Runs all records backwards from `loss` (one element) with d loss = `scale`, then is empty.
  void backward(const Variable& loss, double scale = 1);
  /// The same from any output, given its gradient.
  void backward(const Variable& output, Tensor gradient);
  /// Forgets all records; memory is kept for the next use.
  void clear();
  /// Names of the ops recorded since the last clear, in order.
  std::vector<std::string> names() const;

 private:
  friend class Gradients;
  using Run = void (*)(void*, Gradients&);
  using Destroy = void (*)(void*, std::pmr::memory_resource&);
  struct Record {
    const char* name;
    int output;
    Shape output_shape;
    int first_input, inputs;  // in inputs_ and input_shapes_
    void* closure;            // nullptr: no gradient
    Run run;
    Destroy destroy;
  };
  struct Slot {
    Tensor gradient;  // undefined: nothing has arrived yet
    Into outside;     // where it goes instead, if anywhere
    Parameter* parameter = nullptr;
    int parameters = 0;
  };
  Variable append(Record record, Tensor output, std::span<const Variable> inputs);
  Into target(int slot, const Shape& shape, DType dtype, Backend& backend);

  bool recording_;
  Trace* trace_;
  std::pmr::unsynchronized_pool_resource closures_;
  std::vector<Record> records_;
  std::vector<int> inputs_;
  std::vector<Shape> input_shapes_;
  std::vector<Slot> slots_;
};

template <class F>
Variable Tape::record(const char* name, Tensor output, std::span<const Variable> inputs,
                      F backward) {
  bool tracked = false;
  for (const Variable& input : inputs) tracked = tracked || input.tracked();
  if (!recording_ || !tracked) return Variable(std::move(output));
  Record record{name, -1, output.shape(), 0, 0, nullptr, nullptr, nullptr};
  if constexpr (!std::is_same_v<F, std::nullptr_t>) {
    record.closure = new (closures_.allocate(sizeof(F), alignof(F))) F(std::move(backward));
    record.run = [](void* closure, Gradients& g) { (*static_cast<F*>(closure))(g); };
    record.destroy = [](void* closure, std::pmr::memory_resource& memory) {
      static_cast<F*>(closure)->~F();
      memory.deallocate(closure, sizeof(F), alignof(F));
    };
  }
  return append(record, std::move(output), inputs);
}

}  // namespace tapemeasure
