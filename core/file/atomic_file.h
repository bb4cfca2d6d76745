// SPDX-License-Identifier: MIT
// Writing a file so that it is either wholly there or not at all: a neighbour file is written,
// flushed to disk, renamed over the target, and the folder is flushed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tapemeasure {

/// Writes `parts` one after the other as the file `path`. On any failure the neighbour file
/// (".NAME.PID.tmp") is removed, `path` is untouched, and CheckpointError names the path, the
/// reason and, when the disk is full, needed and free bytes.
void write_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts);
void write_atomically(const std::string& path, const std::string& text);

/// Removes neighbour files in `folder` that a process which no longer runs has left. Returns their
/// names.
std::vector<std::string> remove_leftovers(const std::string& folder);

/// The whole file. Throws DataError naming the path: missing, a folder, no permission.
std::string read_file(const std::string& path);

/// SHA-256 of a text, 64 hexadecimal digits.
std::string sha256(std::span<const std::byte> bytes);

}  // namespace tapemeasure
