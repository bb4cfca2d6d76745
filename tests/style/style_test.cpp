// SPDX-License-Identifier: MIT
// What the code promises about its own form: sizes, include arrows, who may include which library.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = TAPEMEASURE_SOURCE_DIR;
const std::vector<std::string> kFolders = {"core", "layers", "optim", "data", "app"};

std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<fs::path> sources(const std::vector<std::string>& folders) {
  std::vector<fs::path> files;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string extension = entry.path().extension();
      if (extension == ".cpp" || extension == ".h") files.push_back(entry.path());
    }
  }
  return files;
}

std::string name_of(const fs::path& path) { return fs::relative(path, kRoot).string(); }

std::vector<fs::path> all_sources() {
  std::vector<std::string> folders = kFolders;
  folders.insert(folders.end(), {"tests", "bench"});
  return sources(folders);
}

/// The number of the first line with more than 100 columns, or "".
std::string long_line(const std::vector<std::string>& lines) {
  for (size_t i = 0; i < lines.size(); ++i) {
    // A character of UTF-8 is one column.
    const auto columns =
        std::count_if(lines[i].begin(), lines[i].end(), [](char c) { return (c & 0xC0) != 0x80; });
    if (columns > 100) return std::to_string(i + 1);
  }
  return "";
}

TEST(Style, PageSourcesAreShort) {
  int seen = 0;
  for (const auto& entry : fs::directory_iterator(kRoot / "app/report/page")) {
    const std::string extension = entry.path().extension();
    if (extension != ".js" && extension != ".css" && extension != ".html") continue;
    const std::vector<std::string> lines = lines_of(entry.path());
    EXPECT_LE(lines.size(), 400u) << name_of(entry.path());
    EXPECT_EQ(long_line(lines), "") << name_of(entry.path());
    ++seen;
  }
  EXPECT_GE(seen, 10);
}

TEST(Style, FilesAreShort) {
  for (const fs::path& path : all_sources()) {
    const std::vector<std::string> lines = lines_of(path);
    EXPECT_LE(lines.size(), 400u) << name_of(path);
    ASSERT_FALSE(lines.empty()) << name_of(path);
    EXPECT_EQ(lines[0], "// SPDX-License-Identifier: MIT") << name_of(path);
    EXPECT_EQ(long_line(lines), "") << name_of(path);
  }
}

// A function begins at column 0 or 2 with a line that ends in "{" and ends with "}" at that column.
TEST(Style, FunctionsAreShort) {
  const std::regex other(
      "^ *(namespace|class|struct|enum|union|extern|template|#|//|constexpr|const "
      "|inline constexpr|static const).*");
  for (const fs::path& path : sources(kFolders)) {
    const std::vector<std::string> lines = lines_of(path);
    for (size_t i = 0; i < lines.size(); ++i) {
      const size_t column = lines[i].find_first_not_of(' ');
      if ((column != 0 && column != 2) || !lines[i].ends_with("{")) continue;
      if (std::regex_match(lines[i], other)) continue;
      const std::string end = std::string(column, ' ') + "}";
      size_t last = i + 1;
      while (last < lines.size() && lines[last].rfind(end, 0) != 0) ++last;
      EXPECT_LE(last - i + 1, 60u) << name_of(path) << ":" << i + 1 << " " << lines[i];
    }
  }
}

TEST(Style, IncludesFollowTheArrows) {
  const std::map<std::string, std::set<std::string>> allowed = {
      {"core", {"core"}},
      {"layers", {"layers", "core"}},
      {"optim", {"optim", "core"}},
      {"data", {"data", "core"}},
      {"app", {"app", "layers", "optim", "data", "core"}}};
  const std::regex include("^#include \"([a-z]+)/.*");
  int seen = 0;
  for (const auto& [folder, targets] : allowed) {
    for (const fs::path& path : sources({folder})) {
      for (const std::string& line : lines_of(path)) {
        std::smatch match;
        if (!std::regex_match(line, match, include)) continue;
        ++seen;
        EXPECT_TRUE(targets.count(match[1])) << name_of(path) << ": " << line;
      }
    }
  }
  EXPECT_GT(seen, 200);
}

TEST(Style, LibrariesStayWhereTheyBelong) {
  const std::vector<std::pair<std::string, std::regex>> homes = {
      {"#include <(yaml-cpp/|yaml.h)", std::regex("core/config/yaml\\.cpp")},
      {"#include <(hdf5|H5)", std::regex("core/file/hdf5_.*")},
      {"#include <spdlog/", std::regex("core/log\\.cpp")},
      {"#include <(dnnl|oneapi/dnnl)", std::regex("core/backends/cpu/(onednn|block_gemm)\\.cpp")},
      {"#include <libxsmm", std::regex("core/backends/cpu/block_gemm\\.cpp")},
      {"#include <(hwy/|omp)", std::regex("core/backends/cpu/.*")},
      {"#include <sentencepiece", std::regex("data/sentence_pieces\\.cpp")},
      {"#include <httplib", std::regex("app/report/server\\.cpp")},
      {"#include \"event\\.pb", std::regex("app/tensorboard/event_file\\.cpp")},
      {"#include <CLI/", std::regex("app/command.*")}};
  for (const auto& [pattern, home] : homes) {
    const std::regex include("^" + pattern + ".*");
    int seen = 0;
    for (const fs::path& path : sources(kFolders)) {
      for (const std::string& line : lines_of(path)) {
        if (!std::regex_match(line, include)) continue;
        ++seen;
        EXPECT_TRUE(std::regex_match(name_of(path), home)) << name_of(path) << ": " << line;
      }
    }
    EXPECT_GT(seen, 0) << pattern;
  }
}

TEST(Style, EveryFolderSaysWhatBelongsThere) {
  std::vector<fs::path> folders;
  for (const char* name :
       {"core", "layers", "optim", "data", "app", "configs", "scripts", "tests", "docs"}) {
    folders.push_back(kRoot / name);
  }
  for (const auto& entry : fs::directory_iterator(kRoot / "app")) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  for (const fs::path& folder : folders) {
    const std::vector<std::string> lines = lines_of(folder / "README.md");
    EXPECT_FALSE(lines.empty()) << name_of(folder);
    EXPECT_LE(lines.size(), 10u) << name_of(folder);
  }
}

TEST(Style, NothingIsLeftForLater) {
  const std::regex later(
      "\\b(TO"
      "DO|FIX"
      "ME|XX"
      "X|HA"
      "CK)\\b|DISA"
      "BLED_|GTEST_"
      "SKIP");
  for (const fs::path& path : all_sources()) {
    for (const std::string& line : lines_of(path)) {
      EXPECT_FALSE(std::regex_search(line, later)) << name_of(path) << ": " << line;
    }
  }
}

}  // namespace
