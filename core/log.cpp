// SPDX-License-Identifier: MIT
#include "core/log.h"

#include <signal.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <vector>

#include "core/error.h"

namespace tapemeasure {
namespace {

/// The terminal or pipe that people watch: lines, and live rows that stay below them.
class TerminalSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  TerminalSink() : terminal_(isatty(STDERR_FILENO) == 1) {}

  void progress(const std::string& text, bool last, double seconds) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (terminal_) {
      const std::string begin = to_first_row();
      const size_t before = rows_;
      set_live(text);
      put(begin + live_ + (before > rows_ ? kClearBelow : kClearToEnd) + (last ? "\n" : ""));
      if (last) set_live("");
      return;
    }
    const auto now = std::chrono::steady_clock::now();
    const bool due = !shown_ || now - shown_at_ >= std::chrono::duration<double>(seconds);
    if (!due && !last) return;
    put(text.substr(text.rfind('\n') + 1) + "\n");
    // The next progress is another one's first.
    shown_ = !last;
    shown_at_ = now;
  }
  /// Leaves a live line where it is and goes on below it.
  void finish() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!live_.empty()) put("\n");
    set_live("");
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string line(message.payload.data(), message.payload.size());
    if (live_.empty())
      put(line + "\n");
    else
      put(fmt::format("{}{}{}\n{}", to_first_row(), kClearToEnd, line, live_));
  }
  void flush_() override {}

 private:
  static constexpr const char* kClearToEnd = "\x1b[K";
  static constexpr const char* kClearBelow = "\x1b[J";

  // The cursor stands behind the last live row.
  std::string to_first_row() const {
    return rows_ > 1 ? fmt::format("\x1b[{}A\r", rows_ - 1) : "\r";
  }
  // Its rows, each cleared to its end but the last.
  void set_live(const std::string& text) {
    live_.clear();
    rows_ = 0;
    for (size_t begin = 0; begin < text.size(); ++rows_) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      if (rows_ > 0) live_ += fmt::format("{}\n", kClearToEnd);
      live_ += fitting(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  // What of the text one row of the terminal holds: a wrapped line could not be redrawn.
  static std::string fitting(const std::string& text) {
    winsize size{};
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    size_t columns = known ? size.ws_col - 1u : 79u;
    size_t end = 0;
    for (; end < text.size(); ++end) {
      // Only a character's first byte takes a column.
      if ((text[end] & 0xC0) == 0x80) continue;
      if (columns-- == 0) break;
    }
    return text.substr(0, end);
  }

  // One write per line, so that lines of several processes do not mix. A reader that has gone away
  // must not end a run that may have taken days: its signal is held back, and taken.
  static void put(const std::string& text) {
    sigset_t pipe, before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    for (size_t done = 0; done < text.size();) {
      const ssize_t written = ::write(STDERR_FILENO, text.data() + done, text.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0 && errno == EPIPE) {
        const timespec now{};
        sigtimedwait(&pipe, nullptr, &now);
      }
      if (written <= 0) break;
      done += static_cast<size_t>(written);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  const bool terminal_;
  std::string live_;
  size_t rows_ = 0;  // of it
  bool shown_ = false;
  std::chrono::steady_clock::time_point shown_at_;
};

}  // namespace

struct Log::Impl {
  std::shared_ptr<TerminalSink> terminal = std::make_shared<TerminalSink>();
  spdlog::sink_ptr file;  // or null
  std::unique_ptr<spdlog::logger> logger;
};

Log::Log(const std::string& file) : impl_(std::make_unique<Impl>()) {
  std::vector<spdlog::sink_ptr> sinks = {impl_->terminal};
  if (!file.empty()) {
    try {
      impl_->file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
    } catch (const spdlog::spdlog_ex&) {
      throw CheckpointError(fmt::format("{}: cannot be opened for writing", file));
    }
    impl_->file->set_pattern("%Y-%m-%d %H:%M:%S %v");
    sinks.push_back(impl_->file);
  }
  impl_->logger = std::make_unique<spdlog::logger>("", sinks.begin(), sinks.end());
  impl_->logger->flush_on(spdlog::level::info);
  // A full disk must not end the run for want of a log line; the next checkpoint will tell.
  impl_->logger->set_error_handler([](const std::string&) {});
}

Log::~Log() { impl_->terminal->finish(); }

void Log::line(const std::string& text, bool warning) {
  impl_->logger->log(spdlog::level::info, warning ? "warning: " + text : text);
}

void Log::record(const std::string& text) {
  if (!impl_->file) return;
  spdlog::logger only_file("", impl_->file);
  only_file.set_error_handler([](const std::string&) {});
  only_file.info(text);
  only_file.flush();
}

void Log::progress(const std::string& text, bool last, double seconds) {
  impl_->terminal->progress(text, last, seconds);
}

}  // namespace tapemeasure
