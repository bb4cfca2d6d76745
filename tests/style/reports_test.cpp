// SPDX-License-Identifier: MIT
// docs/reports.md and the tests that it speaks of name the same reports.
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

using Names = std::map<int, std::set<std::string>>;  // of test files, by number

std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::smatch> matches(const std::string& text, const std::regex& pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()};
}

/// "| Rn, Rm-Rk | what | covered: tests/app/a_test |" for each of its numbers.
Names documented() {
  static const std::regex row("\\| (R[^|]*) \\|[^|]*\\|(.*)"), number("R([0-9]+)(-R([0-9]+))?"),
      file("[a-z0-9_]+_test");
  Names names;
  for (const std::string& line : lines_of(kRoot / "docs/reports.md")) {
    std::smatch cells;
    if (!std::regex_match(line, cells, row)) continue;
    const std::string numbers = cells[1], text = cells[2];
    for (const std::smatch& range : matches(numbers, number)) {
      const int first = std::stoi(range[1]), last = range[3].matched ? std::stoi(range[3]) : first;
      for (int n = first; n <= last; ++n) {
        std::set<std::string>& files = names[n];
        for (const std::smatch& name : matches(text, file)) files.insert(name.str());
      }
    }
  }
  return names;
}

Names tested() {
  static const std::regex number("\\bR([0-9]+)\\b");
  Names names;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "tests")) {
    const std::string stem = entry.path().stem();
    if (entry.path().extension() != ".cpp" || !stem.ends_with("_test")) continue;
    for (const std::string& line : lines_of(entry.path())) {
      for (const std::smatch& match : matches(line, number)) {
        names[std::stoi(match[1])].insert(stem);
      }
    }
  }
  return names;
}

TEST(Reports, TestsAndTheirListNameTheSame) {
  const Names rows = documented(), tests = tested();
  EXPECT_GT(rows.size(), 150u);
  EXPECT_GT(tests.size(), 80u);
  for (const auto& [number, files] : tests) {
    const auto row = rows.find(number);
    ASSERT_NE(row, rows.end()) << "R" << number << " has no row";
    for (const std::string& file : files) {
      EXPECT_TRUE(row->second.count(file)) << file << " names R" << number << ", its row does not";
    }
  }
  for (const auto& [number, files] : rows) {
    const auto found = tests.find(number);
    if (files.empty()) continue;
    const bool any = found != tests.end() &&
                     std::any_of(files.begin(), files.end(), [&](const std::string& file) {
                       return found->second.count(file) > 0;
                     });
    EXPECT_TRUE(any) << "R" << number << ": none of the tests in its row names it";
  }
}

}  // namespace
