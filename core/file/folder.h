// SPDX-License-Identifier: MIT
// Folders: making them, and holding one for one process by a file "lock" in it, which says who
// does.
#pragma once

#include <chrono>
#include <string>

namespace tapemeasure {

/// With those above it. Throws CheckpointError when it is not there then.
void make_folder(const std::string& path);

/// Holds a folder for one process; given back on destruction. A lock whose process is gone is taken
/// over.
class FolderLock {
 public:
  /// Throws CheckpointError naming pid and host when another process holds it and does not leave
  /// within `patience`. `worker` is what such a process is called: "trainer".
  FolderLock(const std::string& folder, const std::string& worker,
             std::chrono::seconds patience = {});
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  /// Returns who else holds it, or "".
  std::string take();
  std::string path_;
  int descriptor_ = -1;
};

/// "pid N on HOST" of the process that holds the folder now, or "". A lock file that a killed
/// process left says nothing.
std::string lock_holder(const std::string& folder);

}  // namespace tapemeasure
