// SPDX-License-Identifier: MIT
// Registers one test per fixture of the folder and place: `reference` in f64 and `cpu` in f32. The
// folder is TAPEMEASURE_GOLDENS, or the project's own.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "tests/golden/fixture.h"

namespace tapemeasure::golden {
namespace {

using Runner = void (*)(const Fixture&, const Place&);
const std::map<std::string, Runner> kRunners = {
    {"attention", run_attention},   {"model", run_model},         {"training", run_training},
    {"generation", run_generation}, {"optimizer", run_optimizer}, {"schedule", run_schedule},
    {"positions", run_positions},   {"softmax", run_softmax}};

class GoldenTest : public testing::Test {
 public:
  GoldenTest(std::string path, Place place) : path_(std::move(path)), place_(place) {}
  void TestBody() override {
    const Fixture fixture(path_);
    const auto runner = kRunners.find(fixture.kind());
    ASSERT_NE(runner, kRunners.end()) << "unknown kind '" << fixture.kind() << "'";
    ASSERT_NO_THROW(runner->second(fixture, place_));
  }

 private:
  std::string path_;
  Place place_;
};

void register_file(const std::filesystem::path& path) {
  const std::string name = path.stem().string();
  constexpr Place kPlaces[] = {{"reference", DType::kF64}, {"cpu", DType::kF32}};
  for (const Place& place : kPlaces) {
    const std::string suite = std::string("Golden_") + place.backend;
    testing::RegisterTest(
        suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
        [file = path.string(), place]() -> testing::Test* { return new GoldenTest(file, place); });
  }
}

int register_folder() {
  const char* other = std::getenv("TAPEMEASURE_GOLDENS");
  const std::string folder = other ? other : std::string(TAPEMEASURE_SOURCE_DIR) + "/tests/goldens";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".h5") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) register_file(file);
  return static_cast<int>(files.size());
}

}  // namespace
}  // namespace tapemeasure::golden

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (tapemeasure::golden::register_folder() == 0) {
    std::cerr << "no fixtures found\n";
    return 1;
  }
  return RUN_ALL_TESTS();
}
