// SPDX-License-Identifier: MIT
// What a run says: lines to the terminal and to the run's log.txt through spdlog, and live
// progress lines. Only log.cpp knows spdlog's sinks.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>

namespace tapemeasure {

class Log {
 public:
  /// Lines go to standard error, and with the time to `file` too unless it is "" (appended, flushed
  /// after each line). Throws CheckpointError if the file cannot be opened.
  explicit Log(const std::string& file = "");
  ~Log();

  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) {
    line(fmt::format(format, std::forward<Args>(args)...), false);
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) {
    line(fmt::format(format, std::forward<Args>(args)...), true);
  }
  /// Only to the file: what someone else tells the terminal.
  void record(const std::string& text);
  /// One line that is redrawn in place on a terminal; elsewhere a plain line at most every
  /// `seconds`. `last` ends it with a line of its own. Never goes to the file. Of several lines all
  /// are live on a terminal; elsewhere only the last, which sums them up, is shown.
  void progress(const std::string& text, bool last = false, double seconds = 5);

 private:
  void line(const std::string& text, bool warning);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tapemeasure
