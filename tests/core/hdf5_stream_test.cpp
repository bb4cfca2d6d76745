// SPDX-License-Identifier: MIT
// Arrays that are streamed into a file: what is there, what is checked when, and what memory it
// takes.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/checksum.h"
#include "core/file/hdf5_file.h"
#include "tests/core/error_of.h"
#include "tests/core/temporary_folder.h"

namespace tapemeasure::testing {
namespace {

constexpr int64_t kCount = 700'000;

std::vector<uint16_t> numbers(uint16_t factor) {
  std::vector<uint16_t> values(kCount);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint16_t>(i * factor);
  return values;
}

std::string xxh3_text(std::span<const std::byte> bytes) {
  Xxh3 sum(Xxh3::Bits::k64);
  sum.add(bytes);
  return sum.hex();
}

ReadStreamed reader_of(const std::vector<uint16_t>& values) {
  return [bytes = std::as_bytes(std::span(values))](uint64_t offset, std::span<std::byte> piece) {
    std::copy_n(bytes.begin() + static_cast<int64_t>(offset), piece.size(), piece.begin());
  };
}

void write_sample(const std::string& path, const std::string& wrong_sum = "") {
  const std::vector<uint16_t> one = numbers(7), two = numbers(11);
  const std::string sum = xxh3_text(std::as_bytes(std::span(two)));
  Hdf5Writer writer("sample 1", true);
  writer.text("tokenizer/description", std::string(100'000, 'd'));
  writer.stream("train/tokens", ElementType::kU16, kCount, xxh3_text(std::as_bytes(std::span(one))),
                reader_of(one));
  writer.integer("train/bytes", 5);
  writer.stream("valid/tokens", ElementType::kU16, kCount, wrong_sum.empty() ? sum : wrong_sum,
                reader_of(two));
  writer.stream("test/tokens", ElementType::kU16, 0, xxh3_text({}), nullptr);
  writer.integer("valid/bytes", 6);
  writer.write(path);
}

TEST(Hdf5Stream, ReadsWhatItWrote) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  write_sample(path);
  for (const Hdf5Check check : {Hdf5Check::kNothing, Hdf5Check::kLayout, Hdf5Check::kWhole}) {
    const Hdf5Reader reader(path, check);
    EXPECT_EQ(reader.integer("train/bytes"), 5);
    EXPECT_EQ(reader.text("tokenizer/description"), std::string(100'000, 'd'));
    std::vector<uint16_t> values(kCount);
    reader.read("train/tokens", ElementType::kU16, values.data());
    EXPECT_EQ(values, numbers(7));
    reader.read("valid/tokens", ElementType::kU16, values.data());
    EXPECT_EQ(values, numbers(11));
    EXPECT_EQ(reader.info("test/tokens").shape, std::vector<int64_t>{0});
    reader.verify();
  }
  write_sample(folder.path("b.h5"));
  EXPECT_EQ(read_file(path), read_file(folder.path("b.h5")));
}

TEST(Hdf5Stream, OtherBytesThanWerePromisedWriteNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  EXPECT_EQ(error_of<CheckpointError>([&] { write_sample(path, std::string(16, '0')); }),
            path + ": dataset valid/tokens is not what it was");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// R30: in the layout every flipped bit is found at opening; in an array by whoever checks it all.
TEST(Hdf5Stream, OneFlippedBit) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  write_sample(path);
  const std::string whole = read_file(path);
  const uint64_t tokens = Hdf5Reader(path).offset("train/tokens");
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    std::string flipped = whole;
    const bool in_tokens = i % 4 == 0;
    const size_t at = in_tokens ? tokens + random() % (2 * kCount)
                                : random() % (i % 4 == 1 ? 512 : std::min<uint64_t>(tokens, 90000));
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << random() % 8));
    const std::string copy = folder.write("flipped.h5", flipped);
    const std::string layout =
        error_of<CheckpointError>([&] { Hdf5Reader reader(copy, Hdf5Check::kLayout); });
    EXPECT_NE(error_of<CheckpointError>([&] { Hdf5Reader reader(copy); }), "") << at;
    if (in_tokens) {
      EXPECT_EQ(layout, "");
      EXPECT_NE(error_of<CheckpointError>([&] { Hdf5Reader(copy, Hdf5Check::kLayout).verify(); }),
                "")
          << at;
    } else {
      EXPECT_NE(layout, "") << at;
    }
  }
  // A block whose ranges do not lie in the file.
  std::string moved = whole;
  const size_t layout = moved.find("layout ");
  ASSERT_LT(layout, 512u);
  const size_t range = moved.find(' ', layout + 7) + 1;
  moved.replace(range, 1, "9");
  const std::string copy = folder.write("moved.h5", moved);
  EXPECT_NE(error_of<CheckpointError>([&] { Hdf5Reader reader(copy, Hdf5Check::kLayout); }), "");
  // R29: cut files.
  for (const size_t size : {size_t{100}, size_t{512}, whole.size() / 2, whole.size() - 1}) {
    const std::string cut = folder.write("cut.h5", whole.substr(0, size));
    EXPECT_NE(error_of<CheckpointError>([&] {
                Hdf5Reader reader(cut, Hdf5Check::kLayout);
              }).find("cut short"),
              std::string::npos);
  }
}

// An array of 1 GB passes through a process that may have 300 MB.
TEST(Hdf5Stream, MemoryDoesNotHoldTheArray) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  constexpr int64_t kLarge = int64_t{1} << 28;
  const pid_t child = fork();
  if (child == 0) {
    const std::string zeros(1 << 20, '\0');
    Xxh3 sum(Xxh3::Bits::k64);
    for (int64_t i = 0; i < 4 * kLarge; i += 1 << 20) sum.add(std::as_bytes(std::span(zeros)));
    const auto nothing = [](uint64_t, std::span<std::byte> piece) {
      std::fill(piece.begin(), piece.end(), std::byte{0});
    };
    Hdf5Writer writer("sample 1", true);
    writer.stream("tokens", ElementType::kU32, kLarge, sum.hex(), nothing);
    writer.write(path);
    Hdf5Reader(path, Hdf5Check::kLayout).verify();
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    _exit(used.ru_maxrss < 300 * 1024 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tapemeasure::testing
