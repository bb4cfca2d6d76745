// SPDX-License-Identifier: MIT
#include "core/backends/cpu/threads.h"

#include <omp.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace tapemeasure::cpu {

namespace {

/// The quota of one group's folder: v2 keeps "QUOTA PERIOD" or "max PERIOD" in cpu.max, v1 has a
/// file for each, with quota -1 for none.
int folder_threads(const std::string& folder) {
  long long quota = 0, period = 0;
  if (std::ifstream v2(folder + "/cpu.max"); v2 >> quota >> period) {
    return threads_of_quota(quota, period);
  }
  std::ifstream v1_quota(folder + "/cpu.cfs_quota_us"), v1_period(folder + "/cpu.cfs_period_us");
  if (v1_quota >> quota && v1_period >> period) return threads_of_quota(quota, period);
  return 0;
}

/// The smaller of two limits where 0 is none.
int tighter(int a, int b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

bool lists_cpu(const std::string& controllers) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "cpu") return true;
  }
  return false;
}

/// Each line of /proc/self/cgroup is ID:CONTROLLERS:PATH; v2 has the one with no controllers.
int quota_of_process() {
  int limit = 0;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      limit = tighter(limit, cgroup_threads("/sys/fs/cgroup", path));
      limit = tighter(limit, cgroup_threads("/sys/fs/cgroup/unified", path));
    } else if (lists_cpu(controllers)) {
      limit = tighter(limit, cgroup_threads("/sys/fs/cgroup/cpu", path));
      limit = tighter(limit, cgroup_threads("/sys/fs/cgroup/" + controllers, path));
    }
  }
  return limit;
}

/// OpenMP's own count, taken before it binds threads: under OMP_PROC_BIND this one has one core.
int cpus_of_affinity() { return omp_get_num_procs(); }

}  // namespace

int threads_of_quota(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::min<long long>((quota + period - 1) / period, 1 << 20));
}

int cgroup_threads(const std::string& root, const std::string& path) {
  // Inside a container the path may be the host's while the mount shows only our own group, so
  // every prefix is tried, down to the root, and those that are not there do not count.
  int limit = folder_threads(root);
  for (size_t end = path.find('/', 1); path.size() > 1; end = path.find('/', end + 1)) {
    limit = tighter(limit, folder_threads(root + path.substr(0, end)));
    if (end == std::string::npos) break;
  }
  return limit;
}

int default_threads() { return std::max(1, tighter(cpus_of_affinity(), quota_of_process())); }

}  // namespace tapemeasure::cpu
