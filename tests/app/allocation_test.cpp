// SPDX-License-Identifier: MIT
// A steady training step asks the system for no memory: every operator new is counted, by the
// library that calls it. oneDNN makes some small objects whenever it executes a primitive; those
// are only held to be the same number in every step.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/app/run_fixture.h"

namespace {

std::atomic<int64_t> g_ours{0}, g_onednn{0};

void* counted(std::size_t size, std::size_t alignment, const void* caller) {
  Dl_info where;
  const bool onednn = dladdr(caller, &where) != 0 && std::strstr(where.dli_fname, "libdnnl");
  ++(onednn ? g_onednn : g_ours);
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* data = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, rounded)
                                                     : std::malloc(size ? size : 1);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

}  // namespace

void* operator new(std::size_t size) { return counted(size, 1, __builtin_return_address(0)); }
void* operator new[](std::size_t size) { return counted(size, 1, __builtin_return_address(0)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete[](void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }
void operator delete[](void* data, std::size_t) noexcept { std::free(data); }
void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete[](void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete(void* data, std::size_t, std::align_val_t) noexcept { std::free(data); }
void operator delete[](void* data, std::size_t, std::align_val_t) noexcept { std::free(data); }

namespace tapemeasure::testing {
namespace {

class Allocations : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

constexpr int kSteps = 5;

/// Two threads once: where other tests run too they wait for each other.
std::string threads(const std::string& positions) {
  return positions == "learned" ? "trainer.threads=2" : "trainer.threads=1";
}

struct Counts {
  std::vector<int64_t> ours, onednn;
};

/// What each of some steady steps allocates.
Counts of_steps(Session& session) {
  for (int step = 0; step < 4; ++step) session.learner.step();
  const int64_t requests = session.model.backend->pool_requests();
  Counts counts{std::vector<int64_t>(kSteps), std::vector<int64_t>(kSteps)};
  for (int step = 0; step < kSteps; ++step) {
    const int64_t ours = g_ours, onednn = g_onednn;
    session.learner.step();
    counts.ours[step] = g_ours - ours;
    counts.onednn[step] = g_onednn - onednn;
  }
  EXPECT_EQ(session.model.backend->pool_requests(), requests);
  return counts;
}

TEST_P(Allocations, NoneInASteadyStep) {
  const auto& [backend, rule] = GetParam();
  for (const char* positions : {"none", "sinusoidal", "learned"}) {
    const Workspace workspace(900);
    Session session(workspace,
                    {std::string("trainer.backend=") + backend, threads(positions),
                     "trainer.micro_batch_tokens=8", std::string("optimizer.kind=") + rule,
                     std::string("model.position.kind=") + positions});
    const Counts counts = of_steps(session);
    EXPECT_EQ(counts.ours, std::vector<int64_t>(kSteps, 0)) << backend << " " << positions;
    // Three micro-batches of two blocks with 12 products each, and 3 in the head.
    constexpr int64_t kProducts = 3 * (2 * 12 + 3);
    EXPECT_EQ(counts.onednn, std::vector<int64_t>(kSteps, counts.onednn[0]));
    EXPECT_LE(counts.onednn[0], 10 * kProducts) << positions;
  }
}

TEST(Objectives, AllocateNothingInASteadyStep) {
  for (const auto& [kind, objective] : {std::pair("encoder", "{kind: masked}"),
                                        {"encoder_decoder", "{kind: span_corruption}"},
                                        {"decoder", "{kind: prefix}"}}) {
    const Workspace workspace(900);
    Session session(workspace,
                    {"trainer.backend=cpu", "trainer.threads=1", std::string("model.kind=") + kind,
                     std::string("objective=") + objective});
    EXPECT_EQ(of_steps(session).ours, std::vector<int64_t>(kSteps, 0)) << objective;
  }
  for (const char* task : {"reverse", "recall", "addition"}) {
    const Workspace workspace;
    Session session(workspace, {"trainer.backend=cpu", "trainer.threads=1",
                                "model.kind=encoder_decoder", "data.text=[]",
                                std::string("objective={kind: ") + task + ", lengths: [2, 3]}"});
    EXPECT_EQ(of_steps(session).ours, std::vector<int64_t>(kSteps, 0)) << task;
  }
}

TEST(Documents, AllocateNothingInASteadyStep) {
  const Workspace workspace(900);
  Session session(workspace, {"trainer.backend=cpu", "trainer.threads=1",
                              "trainer.micro_batch_tokens=8", "model.document_end=a"});
  EXPECT_EQ(of_steps(session).ours, std::vector<int64_t>(kSteps, 0));
}

INSTANTIATE_TEST_SUITE_P(Steps, Allocations,
                         ::testing::Combine(::testing::Values("reference", "cpu"),
                                            ::testing::Values("adamw", "sgd", "adafactor")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::get<1>(info.param);
                         });

}  // namespace
}  // namespace tapemeasure::testing
