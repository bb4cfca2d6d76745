// SPDX-License-Identifier: MIT
// How many threads this process may use.
#pragma once

#include <string>

namespace tapemeasure::cpu {

/// CPUs of the affinity mask, limited by the CPU quota of the process's control group (v1 or v2),
/// rounded up. At least 1.
int default_threads();

/// CPUs that a quota of `quota` microseconds per `period` microseconds pays for, rounded up; 0 (no
/// limit) unless both are positive.
int threads_of_quota(long long quota, long long period);

/// The tightest quota on the way from `root` to the group `path` below it, 0 if none. `root` is
/// where the hierarchy is mounted, usually "/sys/fs/cgroup" (v2) or "/sys/fs/cgroup/cpu" (v1).
int cgroup_threads(const std::string& root, const std::string& path);

}  // namespace tapemeasure::cpu
