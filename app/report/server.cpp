// SPDX-License-Identifier: MIT
#include "app/report/server.h"

#include <httplib.h>

#include <algorithm>
#include <cctype>

#include "app/report/page.h"
#include "core/error.h"

namespace tapemeasure {

namespace {

constexpr const char* kHost = "127.0.0.1";

/// Connections that are answered at once; each has a thread, so that one that says nothing keeps
/// nobody else waiting.
constexpr size_t kConnections = 32;
constexpr time_t kPatienceSeconds = 2;

/// A page of somewhere else must not read ours by a name that leads to this machine. The port may
/// be that of a tunnel.
bool from_here(const httplib::Request& request) {
  if (request.get_header_value_count("Host") != 1) return false;
  std::string host = request.get_header_value("Host");
  const size_t colon = std::min(host.find(':'), host.size());
  const std::string port = host.substr(colon);
  host.resize(colon);
  std::transform(host.begin(), host.end(), host.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool is_port =
      port.empty() || (port.size() > 1 && port.find_first_not_of("0123456789", 1) == port.npos);
  return is_port && (host == kHost || host == "localhost");
}

}  // namespace

PageServer::PageServer(int port, const std::string& flag)
    : port_(port), server_(std::make_unique<httplib::Server>()) {
  // The library's own choice would share a port with whoever has it already.
  server_->set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  check<ConfigError>(server_->bind_to_port(kHost, port),
                     "{} {}: the port is in use or may not be taken: choose another one", flag,
                     port);
  server_->set_keep_alive_timeout(1);
  server_->set_read_timeout(kPatienceSeconds);
  server_->set_write_timeout(kPatienceSeconds);
  server_->set_payload_max_length(1 << 16);
  server_->new_task_queue = [] { return new httplib::ThreadPool(kConnections); };
}

PageServer::~PageServer() {
  if (!thread_.joinable()) return;
  server_->stop();
  thread_.join();
}

std::string PageServer::address() const { return fmt::format("http://{}:{}/", kHost, port_); }

/// However long a run's files are and however many pages ask, reading them takes a tenth of one
/// core at most.
std::string PageServer::data() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (!last_.body.empty() && now - last_.made < 10 * last_.cost) return last_.body;
  last_.body = next_().dump(-1, ' ', false, Json::error_handler_t::replace);
  last_.made = std::chrono::steady_clock::now();
  last_.cost = last_.made - now;
  return last_.body;
}

void PageServer::start(std::function<Json()> first, std::function<Json()> next) {
  next_ = std::move(next);
  server_->set_pre_routing_handler([](const httplib::Request& request, httplib::Response& answer) {
    if (from_here(request)) return httplib::Server::HandlerResponse::Unhandled;
    answer.status = 403;
    return httplib::Server::HandlerResponse::Handled;
  });
  server_->set_default_headers({{"Cache-Control", "no-store"}});
  server_->Get(
      "/", [this, first = std::move(first)](const httplib::Request&, httplib::Response& answer) {
        const std::lock_guard<std::mutex> lock(mutex_);
        answer.set_content(page_html(first()), "text/html; charset=utf-8");
      });
  server_->Get("/data", [this](const httplib::Request&, httplib::Response& answer) {
    answer.set_content(data(), "application/json");
  });
  thread_ = std::thread([this] { server_->listen_after_bind(); });
  // stop() is heard only by a server that runs.
  while (!server_->is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace tapemeasure
