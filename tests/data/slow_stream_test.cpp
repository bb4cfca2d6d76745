// SPDX-License-Identifier: MIT
// What large texts cost: memory while they are prepared, time and reading when they are used.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "core/backend.h"
#include "data/batcher.h"
#include "data/prepare.h"
#include "tests/core/temporary_folder.h"
#include "tests/data/hostile_texts.h"

namespace tapemeasure {
namespace {

using namespace testing;

constexpr int64_t kLarge = 300'000'000;

std::string large_text(const TemporaryFolder& folder) {
  const std::string path = folder.path("large.txt"), piece = prose(20000);
  std::ofstream file(path, std::ios::binary);
  for (int64_t size = 0; size < kLarge; size += static_cast<int64_t>(piece.size())) file << piece;
  return path;
}

int64_t bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string name;
  int64_t value = 0;
  io >> name >> value;  // "rchar: N"
  return value;
}

/// Memory of this process that no file stands behind.
int64_t anonymous_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stoll(line.substr(8)) * 1024;
  }
  return 0;
}

// R136, R141.
TEST(LargeText, MemoryDoesNotGrowWithIt) {
  const TemporaryFolder folder;
  const std::string path = large_text(folder);
  for (const char* kind : {"byte", "char", "word", "bpe"}) {
    const pid_t child = fork();
    if (child == 0) {
      PrepareOptions options{{path}, kind, {90, 5, 5}};
      if (std::string(kind) == "bpe") options.vocabulary = 300;
      const PrepareReport report = prepare(options, folder.path("large.h5"));
      rusage used{};
      getrusage(RUSAGE_SELF, &used);
      std::fprintf(stderr, "%s: %.0f MB/s, at most %ld MB of memory\n", kind,
                   static_cast<double>(report.bytes) / 1e6 / report.seconds, used.ru_maxrss / 1024);
      _exit(report.bytes >= kLarge && used.ru_maxrss < 150 * 1024 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << kind;
  }
}

// R18.
TEST(LargeText, SeekingReadsLittle) {
  const TemporaryFolder folder;
  prepare({{large_text(folder)}, "byte", {1, 0, 0}}, folder.path("large.h5"));
  const int64_t before = bytes_read();
  const auto start = std::chrono::steady_clock::now();
  const TokenFile file(folder.path("large.h5"));
  const auto backend = make_backend("reference", 1);
  const Batcher batcher(file.tokens(Split::kTrain), {DataOrder::kShuffled, 8, 256, 1}, "large");
  Batch batch;
  batcher.at(batcher.windows() * 99 / 100 / 8, *backend, batch);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 2);
  EXPECT_LT(bytes_read() - before, 10'000'000);
  EXPECT_EQ(batch.scored, 8 * 256);
}

// R138: pages of the mapped file are the system's to keep or drop.
TEST(LargeText, TenThousandBatchesTakeNoMemory) {
  const TemporaryFolder folder;
  prepare({{large_text(folder)}, "byte", {1, 0, 0}}, folder.path("large.h5"));
  const TokenFile file(folder.path("large.h5"));
  const auto backend = make_backend("reference", 1);
  const Batcher batcher(file.tokens(Split::kTrain), {DataOrder::kShuffled, 8, 256, 1}, "large");
  Batch batch;
  batcher.at(0, *backend, batch);
  const int64_t before = anonymous_memory();
  ASSERT_GT(before, 0);
  for (int64_t step = 1; step <= 10000; ++step) batcher.at(step * 7919, *backend, batch);
  EXPECT_LT(anonymous_memory() - before, 4 << 20);
}

}  // namespace
}  // namespace tapemeasure
