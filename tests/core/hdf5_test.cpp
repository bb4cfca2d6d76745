// SPDX-License-Identifier: MIT
// HDF5 files of ours: what is written is read, equal contents are equal bytes, and damage of any
// kind is found before HDF5 can trip over it.
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/file/hdf5_file.h"
#include "tests/core/error_of.h"
#include "tests/core/temporary_folder.h"

namespace tapemeasure::testing {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kShape[] = {2, 3};
const std::vector<float> kWeights = {1, -2, 0.5f, 3e38f, 1e-45f, 0};
const std::string kBytes = std::string("\xff\x00z\x00", 4);

void write_sample(const std::string& path) {
  Hdf5Writer writer("sample 1");
  writer.array("parameters/blocks.0.weight", ElementType::kF32, kShape, kWeights.data());
  const std::vector<int64_t> tokens = {-5, 1, int64_t{1} << 40};
  const int64_t three[] = {3}, none[] = {0, 4};
  writer.array("data/tokens", ElementType::kI64, three, tokens.data());
  const std::vector<uint16_t> words = {0x3F80, 0xC000, 0x7FC1};
  writer.array("half", ElementType::kBF16, three, words.data());
  writer.array("empty", ElementType::kF64, none, nullptr);
  writer.integer("trainer/step", 42);
  writer.real("trainer/loss", 0.1);
  writer.text("config", "a: 1 # \xc3\xa9\n");
  writer.text("nothing", "");
  writer.text("bytes", kBytes);
  writer.write(path);
}

TEST(Hdf5, ReadsWhatItWrote) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  write_sample(path);
  const Hdf5Reader reader(path);
  reader.verify();
  EXPECT_EQ(reader.path(), path);
  EXPECT_EQ(reader.format(), "sample 1");
  EXPECT_EQ(reader.attribute("none"), "");
  std::vector<float> weights(6);
  reader.read("parameters/blocks.0.weight", ElementType::kF32, weights.data());
  EXPECT_EQ(weights, kWeights);
  EXPECT_EQ(reader.reals("parameters/blocks.0.weight")[2], 0.5);
  EXPECT_EQ(reader.integers("data/tokens"), (std::vector<int64_t>{-5, 1, int64_t{1} << 40}));
  EXPECT_EQ(reader.reals("data/tokens")[2], 1099511627776.0);
  EXPECT_EQ(reader.integer("trainer/step"), 42);
  EXPECT_EQ(reader.real("trainer/step"), 42);
  EXPECT_EQ(reader.real("trainer/loss"), 0.1);
  EXPECT_EQ(reader.text("config"), "a: 1 # \xc3\xa9\n");
  EXPECT_EQ(reader.text("nothing"), "");
  EXPECT_EQ(reader.text("bytes"), kBytes);
  EXPECT_TRUE(reader.reals("empty").empty());
  EXPECT_TRUE(reader.has("trainer/step"));
  EXPECT_TRUE(reader.has("trainer"));
  EXPECT_FALSE(reader.has("trainer/steps"));
  EXPECT_FALSE(reader.has("no/such/group"));
}

TEST(Hdf5, Lists) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  write_sample(path);
  const Hdf5Reader reader(path);
  std::vector<std::string> names;
  for (const ArrayInfo& info : reader.list()) names.push_back(info.name);
  EXPECT_EQ(names, (std::vector<std::string>{"bytes", "config", "data/tokens", "empty", "half",
                                             "nothing", "parameters/blocks.0.weight",
                                             "trainer/loss", "trainer/step"}));
  const std::vector<ArrayInfo> trainer = reader.list("trainer");
  ASSERT_EQ(trainer.size(), 2u);
  EXPECT_EQ(trainer[1].name, "trainer/step");
  EXPECT_EQ(trainer[1].type, ElementType::kI64);
  EXPECT_TRUE(trainer[1].shape.empty());
  const ArrayInfo weight = reader.info("parameters/blocks.0.weight");
  EXPECT_EQ(weight.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(weight.bytes, 24u);
  EXPECT_FALSE(weight.is_text);
  EXPECT_EQ(reader.info("half").type, ElementType::kBF16);
  EXPECT_TRUE(reader.info("config").is_text);
  EXPECT_NE(error_of<CheckpointError>([&] { reader.list("none"); }), "");
}

TEST(Hdf5, ConvertsNumbersOnlyWhereTheyFit) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  write_sample(path);
  const Hdf5Reader reader(path);
  std::vector<int32_t> small(3);
  EXPECT_EQ(error_of<CheckpointError>(
                [&] { reader.read("data/tokens", ElementType::kI32, small.data()); }),
            path + ": dataset data/tokens holds integers that are too large");
  EXPECT_EQ(error_of<CheckpointError>([&] { reader.integer("trainer/loss"); }),
            path + ": dataset trainer/loss holds no integers");
  EXPECT_EQ(error_of<CheckpointError>([&] { reader.real("half"); }),
            path + ": dataset half holds 3 values, not one");
  EXPECT_EQ(error_of<CheckpointError>([&] { reader.real("config"); }),
            path + ": dataset config is a text");
  EXPECT_EQ(error_of<CheckpointError>([&] { reader.text("half"); }),
            path + ": dataset half is not a text");
  EXPECT_EQ(error_of<CheckpointError>([&] { reader.real("none"); }),
            path + ": has no dataset none");
  const std::vector<double> half = reader.reals("half");
  EXPECT_EQ(half[0], 1);
  EXPECT_EQ(half[1], -2);
  EXPECT_TRUE(std::isnan(half[2]));
  std::vector<uint16_t> words(6);
  reader.read("parameters/blocks.0.weight", ElementType::kBF16, words.data());
  EXPECT_EQ(words[0], 0x3F80);
  EXPECT_EQ(words[3], 0x7F62);  // 3e38 is 0x7F61B1E6
}

TEST(Hdf5, EqualContentsAreEqualBytes) {
  const TemporaryFolder folder;
  write_sample(folder.path("a.h5"));
  // Memory that was used before must not show.
  { std::vector<char> dirty(100 << 20, 'x'); }
  write_sample(folder.path("b.h5"));
  EXPECT_EQ(read_file(folder.path("a.h5")), read_file(folder.path("b.h5")));
}

TEST(Hdf5, OffsetsPointAtTheBytes) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  write_sample(path);
  const uint64_t offset = Hdf5Reader(path).offset("parameters/blocks.0.weight");
  const std::string file = read_file(path);
  ASSERT_LE(offset + 24, file.size());
  EXPECT_EQ(std::memcmp(file.data() + offset, kWeights.data(), 24), 0);
  EXPECT_NE(error_of<CheckpointError>([&] { Hdf5Reader(path).offset("empty"); }), "");
}

// R33: many tensors with long names.
TEST(Hdf5, TwoThousandLongNames) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  const auto name = [](int i) {
    return fmt::format("parameters/{:04}{}", i, std::string(196, 'n'));
  };
  Hdf5Writer writer("many 1");
  for (int i = 0; i < 2000; ++i) writer.integer(name(i), i);
  writer.write(path);
  const Hdf5Reader reader(path);
  EXPECT_EQ(reader.list("parameters").size(), 2000u);
  for (int i = 0; i < 2000; i += 37) EXPECT_EQ(reader.integer(name(i)), i);
}

// R29: cut files.
TEST(Hdf5, CutShort) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  write_sample(path);
  const std::string whole = read_file(path);
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{512}, size_t{4096}, whole.size() / 2, whole.size() - 1}) {
    ASSERT_LT(size, whole.size());
    const std::string cut = folder.write("cut.h5", whole.substr(0, size));
    const std::string of = size < 512 ? "512 or more" : std::to_string(whole.size());
    EXPECT_EQ(error_of<CheckpointError>([&] { Hdf5Reader reader(cut); }),
              fmt::format("{}: cut short: {} bytes of {}", cut, size, of));
  }
  folder.write("long.h5", whole + "x");
  EXPECT_NE(
      error_of<CheckpointError>([&] { Hdf5Reader reader(folder.path("long.h5")); }).find("damaged"),
      std::string::npos);
}

// R30: one flipped bit in 500 copies; the checked reader notices each one.
TEST(Hdf5, OneFlippedBit) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  write_sample(path);
  const std::string whole = read_file(path);
  std::mt19937_64 random(3);
  for (int i = 0; i < 500; ++i) {
    std::string flipped = whole;
    // Every fifth in the header, which is a small part of the file.
    const size_t at = random() % (i % 5 == 0 ? 512 : flipped.size());
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << random() % 8));
    const std::string copy = folder.write("flipped.h5", flipped);
    EXPECT_NE(error_of<CheckpointError>([&] { Hdf5Reader(copy).verify(); }), "") << at;
  }
}

// R30: the datasets' own checksums, which also count where the whole file is not checked.
TEST(Hdf5, DamagedDataset) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  write_sample(path);
  const uint64_t offset = Hdf5Reader(path).offset("parameters/blocks.0.weight");
  std::string file = read_file(path);
  file[offset] = static_cast<char>(file[offset] ^ 1);
  folder.write("a.h5", file);
  EXPECT_EQ(error_of<CheckpointError>([&] { Hdf5Reader reader(path); }),
            path + ": damaged: the contents do not match their checksum");
  const Hdf5Reader reader(path, false);
  EXPECT_EQ(reader.integer("trainer/step"), 42);
  const std::string message = path + ": damaged: dataset parameters/blocks.0.weight";
  EXPECT_EQ(error_of<CheckpointError>([&] { reader.reals("parameters/blocks.0.weight"); }),
            message);
  EXPECT_EQ(error_of<CheckpointError>([&] { reader.verify(); }), message);
}

TEST(Hdf5, NotOneOfOurs) {
  const TemporaryFolder folder;
  const auto message = [](const std::string& path) {
    return error_of<CheckpointError>([&] { Hdf5Reader reader(path); });
  };
  EXPECT_EQ(message(folder.path("none.h5")),
            folder.path("none.h5") + ": cannot read: No such file or directory");
  EXPECT_EQ(message(folder.path()), folder.path() + ": cannot read: a folder");
  const std::string text = folder.write("text.h5", std::string(1000, 'x'));
  EXPECT_EQ(message(text), text + ": not one of ours (no Tapemeasure header)");
  EXPECT_EQ(error_of<CheckpointError>([&] { Hdf5Reader reader(text, false); }),
            text + ": not an HDF5 file, or damaged");
  write_sample(folder.path("a.h5"));
  std::string newer = read_file(folder.path("a.h5"));
  newer[12] = '3';
  folder.write("newer.h5", newer);
  EXPECT_EQ(message(folder.path("newer.h5")),
            folder.path("newer.h5") + ": of a newer format (3; this program knows 2)");
}

// Whoever reads a text that claims to be UTF-8 decodes it, and stops at surrogates.
TEST(Hdf5, TextsClaimToBeUtf8OnlyWhereTheyAre) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  Hdf5Writer writer("sample");
  writer.text("letter", "\xc3\xa9");
  writer.text("surrogate", "\xed\xa0\x80");
  writer.text("overlong", "\xe0\x80\x80");
  writer.write(path);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const auto set_of = [&](const char* name) {
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT), type = H5Dget_type(dataset);
    const H5T_cset_t set = H5Tget_cset(type);
    H5Tclose(type);
    H5Dclose(dataset);
    return set;
  };
  EXPECT_EQ(set_of("letter"), H5T_CSET_UTF8);
  EXPECT_EQ(set_of("surrogate"), H5T_CSET_ASCII);
  EXPECT_EQ(set_of("overlong"), H5T_CSET_ASCII);
  H5Fclose(file);
}

// A file as h5py makes them: variable- and fixed-length texts, a number attribute, chunks, gzip.
void write_foreign(const std::string& path) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t scalar = H5Screate(H5S_SCALAR);
  const hid_t variable = H5Tcopy(H5T_C_S1), fixed = H5Tcopy(H5T_C_S1);
  H5Tset_size(variable, H5T_VARIABLE);
  H5Tset_cset(variable, H5T_CSET_UTF8);
  H5Tset_size(fixed, 16);
  const auto attribute = [&](const char* name, hid_t type, const void* value) {
    const hid_t id = H5Acreate2(file, name, type, scalar, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(id, type, value);
    H5Aclose(id);
  };
  const char* config = "{\"kind\": \"\xc3\xa9\"}";
  attribute("config", variable, &config);
  attribute("kind", fixed, "model\0\0\0\0\0\0\0\0\0\0");
  const double tolerance = 1e-9;
  attribute("tolerance", H5T_NATIVE_DOUBLE, &tolerance);
  const hsize_t size[] = {2, 2};
  const hid_t space = H5Screate_simple(2, size, nullptr), chunked = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(chunked, 2, size);
  H5Pset_deflate(chunked, 4);
  H5Gclose(H5Gcreate2(file, "expect", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  const double values[] = {1, 2, 3, 0.25};
  const int32_t tokens[] = {1, -2, 3, 4};
  hid_t data =
      H5Dcreate2(file, "expect/y", H5T_IEEE_F64BE, space, H5P_DEFAULT, chunked, H5P_DEFAULT);
  H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  H5Dclose(data);
  data = H5Dcreate2(file, "tokens", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(data, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, tokens);
  H5Dclose(data);
  data = H5Dcreate2(file, "note", variable, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(data, variable, H5S_ALL, H5S_ALL, H5P_DEFAULT, &config);
  H5Dclose(data);
  for (const hid_t type : {variable, fixed}) H5Tclose(type);
  H5Pclose(chunked);
  for (const hid_t id : {space, scalar}) H5Sclose(id);
  H5Fclose(file);
}

TEST(Hdf5, ReadsFilesOfOthers) {
  const TemporaryFolder folder;
  const std::string path = folder.path("foreign.h5");
  write_foreign(path);
  EXPECT_THROW(Hdf5Reader reader(path), CheckpointError);
  const Hdf5Reader reader(path, false);
  EXPECT_EQ(reader.attribute("config"), "{\"kind\": \"\xc3\xa9\"}");
  EXPECT_EQ(reader.attribute("kind"), "model");
  EXPECT_EQ(reader.number_attribute("tolerance"), 1e-9);
  EXPECT_NE(error_of<CheckpointError>([&] { reader.number_attribute("none"); }), "");
  EXPECT_NE(error_of<CheckpointError>([&] { reader.number_attribute("config"); }), "");
  EXPECT_EQ(reader.reals("expect/y"), (std::vector<double>{1, 2, 3, 0.25}));
  EXPECT_EQ(reader.integers("tokens"), (std::vector<int64_t>{1, -2, 3, 4}));
  EXPECT_EQ(reader.text("note"), "{\"kind\": \"\xc3\xa9\"}");
  EXPECT_NE(error_of<CheckpointError>([&] { reader.offset("expect/y"); }), "");
  EXPECT_EQ(reader.list().size(), 3u);
  reader.verify();
}

#if !defined(__SANITIZE_ADDRESS__)  // which needs terabytes of addresses
// HDF5 crashed at exit on a file that it had not had the memory to complete.
TEST(Hdf5Death, AFileThatMemoryDoesNotSufficeForIsAnErrorToTheEnd) {
  const auto write_too_much = [] {
    const std::vector<float> values(100000);
    const int64_t count = static_cast<int64_t>(values.size());
    // Statistics in pages: the first number is the size of all addresses.
    std::ifstream statistics("/proc/self/statm");
    rlim_t pages = 0;
    statistics >> pages;
    const rlim_t limit = (pages + 4096) * 4096;  // 16 MiB more
    const rlimit limits = {limit, limit};
    if (setrlimit(RLIMIT_AS, &limits) != 0) std::exit(1);
    try {
      Hdf5Writer file("test 1");
      for (int i = 0; i < 100; ++i) {
        file.array(fmt::format("values/{}", i), ElementType::kF32, std::span(&count, 1),
                   values.data());
      }
    } catch (const Error&) {
      std::exit(7);
    }
    std::exit(2);
  };
  EXPECT_EXIT(write_too_much(), ::testing::ExitedWithCode(7), "");
}
#endif

}  // namespace
}  // namespace tapemeasure::testing
