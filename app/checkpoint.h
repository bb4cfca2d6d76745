// SPDX-License-Identifier: MIT
// Checkpoints: the state of a run as one HDF5 file. docs/checkpoints.md describes the format. The
// same visit_state() of each component writes and reads it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/file/hdf5_file.h"
#include "core/parameter.h"
#include "core/state.h"
#include "data/token_file.h"

namespace tapemeasure {

inline constexpr const char* kCheckpointFormat = "tapemeasure-checkpoint 1";

/// Writes what `visit` shows, atomically. Throws CheckpointError, leaving what was there.
void save_checkpoint(const std::string& path, const std::function<void(StateVisitor&)>& visit);
/// Reads what `visit` asks for. Throws CheckpointError naming the file and what is wrong with it:
/// damaged, of a newer format, or "NAME: expected ..., found ...".
void load_checkpoint(const Hdf5Reader& file, const std::function<void(StateVisitor&)>& visit);
/// Opens a checkpoint: checks file and format.
Hdf5Reader open_checkpoint(const std::string& path);

/// The parameters as "parameters/NAME".
void visit_parameters(StateVisitor& v, ParameterStore& store);
/// The texts that a run reads as "data/texts", their number, and "data/N/{path,bytes,sha256}".
void visit_data(StateVisitor& v, std::vector<TextFingerprint>& texts);
/// Throws CheckpointError naming each parameter that `file` lacks, has too many of, or has in
/// another shape or dtype, as "NAME: expected ..., found ...", unless its name matches the glob
/// `allow_missing` ("" allows none). Returns the names that stay as they are.
std::vector<std::string> load_parameters(const Hdf5Reader& file, ParameterStore& store,
                                         const std::string& allow_missing);

}  // namespace tapemeasure
