// SPDX-License-Identifier: MIT
// A position method that nobody outside has answered for is not proven: each
// method needs a fixture among the project's own (or those named for this run), and so does each
// way to scale rotations.
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "layers/position/rope_scaling.h"
#include "tests/golden/fixture.h"

namespace tapemeasure::golden {
namespace {

TEST(Coverage, EveryPositionMethodAndScalingHasAFixture) {
  std::set<std::string> methods, scalings;
  std::vector<std::string> folders = {std::string(TAPEMEASURE_SOURCE_DIR) + "/tests/goldens"};
  if (const char* other = std::getenv("TAPEMEASURE_GOLDENS")) folders.push_back(other);
  for (const std::string& folder : folders) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".h5") continue;
      const Fixture fixture(entry.path().string());
      if (fixture.kind() == "positions") continue;
      const auto config = nlohmann::json::parse(fixture.config_text());
      const auto position = config.value("position", nlohmann::json::object());
      methods.insert(position.value("kind", ""));
      scalings.insert(position.value("scaling", nlohmann::json::object()).value("kind", ""));
    }
  }
  for (const Kind<PositionOptions>& method : position_methods()) {
    EXPECT_TRUE(methods.count(method.name)) << "no fixture has position " << method.name;
  }
  for (const Kind<RopeScaling>& scaling : rope_scalings()) {
    EXPECT_TRUE(scalings.count(scaling.name)) << "no fixture has the scaling " << scaling.name;
  }
}

}  // namespace
}  // namespace tapemeasure::golden
