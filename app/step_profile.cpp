// SPDX-License-Identifier: MIT
#include "app/step_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/file/atomic_file.h"

namespace tapemeasure {

void StepProfile::before_step(int64_t here, int64_t left) {
  constexpr int64_t kWarm = 2;
  if (!done_ && (here == kWarm || left == 1)) trace_.start();
}

bool StepProfile::after_step() {
  if (!trace_.on()) return false;
  trace_.stop();
  done_ = true;
  write_atomically(path_, chrome_trace(trace_.intervals()));
  return true;
}

namespace {

struct Sum {
  std::string name;
  int64_t calls = 0;
  double microseconds = 0, flops = 0;
};

/// Intervals that contain no other, by name: the kernels, since everything else contains some.
std::vector<Sum> kernels(const std::vector<Trace::Interval>& intervals) {
  std::map<std::string, Sum> sums;
  double last_begin = -1;
  // In the order of their ends, an interval that begins before the one that ended last contains it.
  for (const Trace::Interval& interval : intervals) {
    const bool contains = interval.begin <= last_begin;
    last_begin = interval.begin;
    if (contains) continue;
    Sum& sum = sums[interval.name];
    sum.name = interval.name;
    ++sum.calls;
    sum.microseconds += interval.duration;
    if (interval.product) sum.flops += interval.product->operations();
  }
  std::vector<Sum> sorted;
  for (auto& [name, sum] : sums) sorted.push_back(std::move(sum));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Sum& a, const Sum& b) { return a.microseconds > b.microseconds; });
  return sorted;
}

}  // namespace

std::vector<std::string> heaviest_kernels(const std::vector<Trace::Interval>& intervals) {
  double whole = 0;
  for (const Trace::Interval& interval : intervals) {
    whole = std::max(whole, interval.begin + interval.duration);
  }
  const auto line = [&](const Sum& sum) {
    const std::string rate =
        sum.flops > 0 ? fmt::format(", {:.0f} GFLOP/s", sum.flops / sum.microseconds / 1e3) : "";
    return fmt::format("{} {:.1f} %, {} call{}, {:.1f} ms{}", sum.name,
                       100 * sum.microseconds / whole, sum.calls, sum.calls == 1 ? "" : "s",
                       sum.microseconds / 1e3, rate);
  };
  std::vector<std::string> lines;
  Sum rest{.name = "all others"};
  for (const Sum& sum : kernels(intervals)) {
    if (sum.microseconds >= 0.01 * whole) {
      lines.push_back(line(sum));
    } else {
      rest.calls += sum.calls;
      rest.microseconds += sum.microseconds;
    }
  }
  if (rest.calls > 0) lines.push_back(line(rest));
  return lines;
}

std::string chrome_trace(const std::vector<Trace::Interval>& intervals) {
  auto events = nlohmann::ordered_json::array();
  for (const Trace::Interval& interval : intervals) {
    nlohmann::ordered_json event = {{"name", interval.name},    {"ph", "X"}, {"ts", interval.begin},
                                    {"dur", interval.duration}, {"pid", 1},  {"tid", 1}};
    if (!interval.detail.empty()) event["args"]["sizes"] = interval.detail;
    if (interval.product) {
      event["args"]["sizes"] = interval.product->str();
      event["args"]["GFLOP/s"] = interval.product->operations() / interval.duration / 1e3;
    }
    events.push_back(std::move(event));
  }
  return nlohmann::ordered_json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}.dump(
             1) +
         "\n";
}

}  // namespace tapemeasure
