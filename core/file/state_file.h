// SPDX-License-Identifier: MIT
// The visitors that keep a state in an HDF5 file of ours, and bring it back.
#pragma once

#include <string>

#include "core/file/hdf5_file.h"
#include "core/state.h"

namespace tapemeasure {

/// Adds each value that it is shown to a file.
class StateWriter : public StateVisitor {
 public:
  /// `file` must outlive it.
  explicit StateWriter(Hdf5Writer& file) : file_(file) {}
  bool loading() const override { return false; }
  void tensor(const std::string& name, const Tensor& value) override;
  void integer(const std::string& name, int64_t& value) override;
  void real(const std::string& name, double& value) override;
  void text(const std::string& name, std::string& value) override;

 private:
  Hdf5Writer& file_;
};

/// Fills each value that it is shown from a file. Throws CheckpointError, "FILE: NAME: expected
/// ..., found ...", when the file has no such value or the tensor there is another.
class StateReader : public StateVisitor {
 public:
  /// `file` must outlive it.
  explicit StateReader(const Hdf5Reader& file) : file_(file) {}
  bool loading() const override { return true; }
  void tensor(const std::string& name, const Tensor& value) override;
  void integer(const std::string& name, int64_t& value) override;
  void real(const std::string& name, double& value) override;
  void text(const std::string& name, std::string& value) override;

 private:
  void want(const std::string& name) const;
  const Hdf5Reader& file_;
};

/// How the array `name` of a file differs in shape or dtype from a tensor that is to be read from
/// it: "expected f32 [8, 8], found f32 [8, 4]", "expected ..., found nothing", or "".
std::string mismatch(const Hdf5Reader& file, const std::string& name, const Tensor& value);

}  // namespace tapemeasure
