// SPDX-License-Identifier: MIT
// Serves a page on this machine alone (127.0.0.1), while runs go on: GET / is the page, GET /data
// the document that it asks for again and again. A thread of its own reads files of the run
// directories and nothing else, so training beside it gives the same bytes as without.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "app/report/run_data.h"

namespace httplib {
class Server;
}

namespace tapemeasure {

class PageServer {
 public:
  /// Takes the port; `flag` is what the user asked with. Throws ConfigError when it is not to be
  /// had.
  PageServer(int port, const std::string& flag);
  /// Stops answering.
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  /// Begins to answer: `first` gives the document of the page, `next` what /data gives; both from
  /// other threads, one at a time.
  void start(std::function<Json()> first, std::function<Json()> next);
  std::string address() const;

 private:
  struct Answer {
    std::string body;
    std::chrono::steady_clock::time_point made;
    std::chrono::steady_clock::duration cost{};
  };
  std::string data();

  int port_;
  std::unique_ptr<httplib::Server> server_;
  std::function<Json()> next_;
  std::mutex mutex_;
  Answer last_;
  std::thread thread_;
};

}  // namespace tapemeasure
