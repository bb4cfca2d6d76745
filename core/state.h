// SPDX-License-Identifier: MIT
// What a component must keep over a stop. Its one `visit_state(StateVisitor&)` both saves and
// loads: the visitor reads or writes each value that it is shown.
#pragma once

#include <cstdint>
#include <string>

#include "core/tensor.h"

namespace tapemeasure {

class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  /// True while values are being read back.
  virtual bool loading() const = 0;
  /// Names are paths below the root, "optimizer/blocks.0.attention.query.weight/first_moment". A
  /// loaded tensor must have the stored shape and dtype: CheckpointError names what differs.
  virtual void tensor(const std::string& name, const Tensor& value) = 0;
  virtual void integer(const std::string& name, int64_t& value) = 0;
  virtual void real(const std::string& name, double& value) = 0;
  virtual void text(const std::string& name, std::string& value) = 0;
};

}  // namespace tapemeasure
