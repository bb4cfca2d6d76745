// SPDX-License-Identifier: MIT
// The live page: what it serves, to whom, and that training beside it is the same training.
#include "app/report/server.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <thread>

#include "app/report/document.h"
#include "core/error.h"
#include "core/file/atomic_file.h"
#include "tests/app/run_fixture.h"

namespace tapemeasure::testing {
namespace {

/// A port that was free a moment ago.
int free_port() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(bind(descriptor, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(descriptor);
  return ntohs(address.sin_port);
}

TEST(Server, ServesThePageAndItsData) {
  const int port = free_port();
  PageServer server(port, "--serve");
  server.start(
      [] {
        return Json{{"title", "a page"}, {"runs", Json::array()}};
      },
      [] {
        return Json{{"title", "some data"}};
      });
  httplib::Client client("127.0.0.1", port);
  const auto page = client.Get("/");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  EXPECT_NE(page->body.find("<title>a page"), std::string::npos);
  const auto data = client.Get("/data");
  ASSERT_TRUE(data);
  EXPECT_EQ(Json::parse(data->body)["title"], "some data");
  EXPECT_EQ(client.Get("/etc/passwd")->status, 404);
}

// A web site whose name leads to this machine is not let in.
TEST(Server, AnswersOnlyUnderItsOwnName) {
  const int port = free_port();
  PageServer server(port, "--serve");
  server.start([] { return Json{{"title", "a page"}}; }, [] { return Json::object(); });
  httplib::Client client("127.0.0.1", port);
  EXPECT_EQ(client.Get("/data", {{"Host", "example.org"}})->status, 403);
  for (const char* host :
       {"127.0.0.1.example.org", "localhost.example.org", "localhost:x", "localhost:", "", "[::1]",
        "example.org:127.0.0.1", "127.0.0.1@example.org"}) {
    EXPECT_EQ(client.Get("/data", {{"Host", host}})->status, 403) << host;
  }
  for (const char* host : {"localhost:1", "localhost", "127.0.0.1", "LocalHost:80"}) {
    EXPECT_EQ(client.Get("/data", {{"Host", host}})->status, 200) << host;
  }
}

// It has two pages, and no files.
TEST(Server, PathsLeadNowhere) {
  const int port = free_port();
  PageServer server(port, "--serve");
  server.start([] { return Json{{"title", "a page"}}; }, [] { return Json::object(); });
  httplib::Client client("127.0.0.1", port);
  for (const char* path :
       {"/../../etc/passwd", "/data/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc/passwd", "//etc/passwd", "/data/", "/data%00"}) {
    EXPECT_EQ(client.Get(path)->status, 404) << path;
  }
  EXPECT_EQ(client.Post("/data", "x", "text/plain")->status, 404);
}

// Who begins a request and goes on with it for ever, a byte at a time, keeps nobody waiting.
TEST(Server, SlowClientsKeepNobodyWaiting) {
  const int port = free_port();
  PageServer server(port, "--serve");
  server.start([] { return Json{{"title", "a page"}}; }, [] { return Json::object(); });
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  std::vector<int> slow;
  const auto say = [&](const std::string& text) {
    for (const int descriptor : slow) send(descriptor, text.data(), text.size(), MSG_NOSIGNAL);
  };
  for (int i = 0; i < 4; ++i) {
    slow.push_back(socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(connect(slow.back(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  say("GET /data HTTP/1.1\r\nHost: local");
  std::atomic<bool> answered = false;
  std::thread dribble([&] {
    while (!answered) {
      say("x");
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  httplib::Client client("127.0.0.1", port);
  client.set_read_timeout(20);
  const auto answer = client.Get("/data");
  answered = true;
  dribble.join();
  for (const int descriptor : slow) close(descriptor);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
}

TEST(Server, APortInUseStopsBeforeTrainingBegins) {
  const int port = free_port();
  const PageServer held(port, "--serve");
  EXPECT_THROW(PageServer(port, "--serve"), ConfigError);
  const Workspace workspace;
  std::vector<std::string> arguments = train_arguments(workspace, workspace.path("run"));
  arguments.insert(arguments.end(), {"--watch", std::to_string(port)});
  const Outcome outcome = run_program(arguments);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(lines_of(outcome.output), 1u) << outcome.output;
  EXPECT_NE(outcome.output.find("--watch " + std::to_string(port)), std::string::npos);
  EXPECT_FALSE(RunDirectory(workspace.path("run")).exists());
}

// Asked as often as it answers, from the first step to the last.
TEST(Server, TrainingIsTheSameUnderWatch) {
  const Sets sets = {"trainer.steps=300", "trainer.save_every=100", "trainer.evaluate_every=100"};
  const Workspace workspace;
  const RunDirectory alone(workspace.path("alone")), watched(workspace.path("watched"));
  ASSERT_EQ(run_program(train_arguments(workspace, alone.path(), sets)).code, 0);
  const int port = free_port();
  std::vector<std::string> arguments = train_arguments(workspace, watched.path(), sets);
  arguments.insert(arguments.end(), {"--watch", std::to_string(port)});
  Program program(arguments);
  ASSERT_TRUE(wait_for_rows(watched, 1)) << program.output();
  httplib::Client client("127.0.0.1", port);
  int answers = 0;
  size_t steps = 0;
  while (const auto data = client.Get("/data")) {
    const Json document = Json::parse(data->body);
    ASSERT_EQ(document["runs"].size(), 1u);
    EXPECT_TRUE(document["live"]);
    const size_t now = document["runs"][0]["curves"]["loss"]["of"];
    EXPECT_GE(now, steps);
    steps = now;
    ++answers;
  }
  EXPECT_EQ(program.wait(), 0) << program.output();
  EXPECT_GT(answers, 2);
  EXPECT_EQ(metrics(watched), metrics(alone));
  EXPECT_TRUE(last_checkpoint(watched) == last_checkpoint(alone));
  EXPECT_EQ(read_file(watched.file("results.json")), read_file(alone.file("results.json")));
}

}  // namespace
}  // namespace tapemeasure::testing
