// SPDX-License-Identifier: MIT
// Texts prepared once and kept, and prepared files used as they are.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "data/prepare.h"
#include "tests/core/temporary_folder.h"

namespace tapemeasure {
namespace {

using testing::TemporaryFolder;
namespace fs = std::filesystem;

class CacheTest : public ::testing::Test {
 protected:
  TokenFile get(const PrepareOptions& options) {
    notices_.clear();
    return cached_token_file(options, cache_, notices_);
  }
  std::string message_of(const PrepareOptions& options, const std::string& cache) {
    try {
      cached_token_file(options, cache, notices_);
    } catch (const DataError& error) {
      return error.what();
    }
    return "";
  }
  std::vector<std::string> kept() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(cache_)) names.push_back(entry.path());
    return names;
  }

  TemporaryFolder folder_;
  std::string cache_ = folder_.path("deep/cache");
  std::string text_ = folder_.write("a.txt", "a text\r\nof two lines");
  std::vector<std::string> notices_;
};

ino_t inode(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_ino;
}

TEST_F(CacheTest, ATextIsPreparedOnce) {
  const PrepareOptions options{{text_}, "char", {90, 5, 5}};
  const std::string path = get(options).path();
  EXPECT_EQ(notices_.size(), 1u);
  const ino_t first = inode(path);
  EXPECT_EQ(get(options).path(), path);
  EXPECT_EQ(inode(path), first);  // a rewritten file is another one
  EXPECT_EQ(notices_.size(), 1u) << "what was noticed is said again";
  EXPECT_EQ(kept().size(), 1u);
}

TEST_F(CacheTest, OtherTextsAndOptionsAreKeptApart) {
  const std::string other = folder_.write("b.txt", "a text\r\nof two lines");
  std::set<std::string> paths = {get({{text_}, "char", {90, 5, 5}}).path(),
                                 get({{text_}, "byte", {90, 5, 5}}).path(),
                                 get({{text_}, "char", {90, 10, 0}}).path(),
                                 get({{other}, "char", {90, 5, 5}}).path(),
                                 get({{text_, other}, "char", {90, 5, 5}}).path(),
                                 get({{other, text_}, "char", {90, 5, 5}}).path()};
  folder_.write("a.txt", "a text\r\nof two linez");
  const TokenFile changed = get({{text_}, "char", {90, 5, 5}});
  paths.insert(changed.path());
  EXPECT_EQ(paths.size(), 7u);
  const std::string bytes = read_file(text_);
  EXPECT_EQ(changed.texts()[0].sha256, sha256(std::as_bytes(std::span(bytes))));
}

TEST_F(CacheTest, ADamagedFileIsMadeAgain) {
  const PrepareOptions options{{text_}, "char", {90, 5, 5}};
  const std::string path = get(options).path(), good = read_file(path);
  const auto damaged = [&](std::string bytes) {
    write_atomically(path, bytes);
    EXPECT_EQ(get(options).path(), path);
    EXPECT_EQ(read_file(path), good);
    ASSERT_FALSE(notices_.empty());
    EXPECT_NE(notices_[0].find(path), std::string::npos) << notices_[0];
    EXPECT_NE(notices_[0].find("preparing the text again"), std::string::npos) << notices_[0];
  };
  damaged("");
  damaged("not HDF5");
  damaged(good.substr(0, 600));
  damaged(good.substr(0, good.size() - 1));
  std::string flipped = good;
  flipped[good.size() / 2] ^= 1;
  damaged(flipped);
}

TEST_F(CacheTest, AFolderThatCannotBeMadeNamesTheOption) {
  const std::string message = message_of({{text_}, "byte", {1, 0, 0}}, text_ + "/cache");
  EXPECT_NE(message.find(text_ + "/cache"), std::string::npos) << message;
  EXPECT_NE(message.find("Not a directory"), std::string::npos) << message;
  EXPECT_NE(message.find("--cache"), std::string::npos) << message;
}

// /proc can be written into by nobody, root included.
TEST_F(CacheTest, AFolderThatCannotBeWrittenNamesTheOption) {
  const std::string message = message_of({{text_}, "byte", {1, 0, 0}}, "/proc");
  EXPECT_NE(message.find("/proc"), std::string::npos) << message;
  EXPECT_NE(message.find("--cache"), std::string::npos) << message;
}

TEST_F(CacheTest, APreparedFileIsUsedAsItIs) {
  prepare({{text_}, "char", {1, 1, 0}}, folder_.path("ready.h5"));
  const TokenFile file = get({{folder_.path("ready.h5")}, "char", {90, 5, 5}});
  EXPECT_EQ(file.path(), folder_.path("ready.h5"));
  EXPECT_EQ(file.bytes(Split::kTrain), file.bytes(Split::kValid));
  EXPECT_FALSE(fs::exists(cache_));
}

TEST_F(CacheTest, APreparedFileOfAnotherTokenizerIsRefused) {
  const std::string ready = folder_.path("ready.h5");
  prepare({{text_}, "char", {1, 1, 0}}, ready);
  const std::string message = message_of({{ready}, "byte", {90, 5, 5}}, cache_);
  EXPECT_NE(message.find(ready + ": was prepared with tokenizer char"), std::string::npos)
      << message;
  EXPECT_NE(message.find("data.tokenizer is byte"), std::string::npos) << message;
  EXPECT_NE(message.find("set data.tokenizer: char"), std::string::npos) << message;
}

TEST_F(CacheTest, APreparedFileIsNeverReadAsText) {
  const std::string ready = folder_.path("ready.h5");
  prepare({{text_}, "byte", {1, 1, 0}}, ready);
  EXPECT_NE(message_of({{ready, text_}, "byte", {1, 0, 0}}, cache_).find(ready), std::string::npos);
  EXPECT_NE(message_of({{text_, ready}, "byte", {1, 0, 0}}, cache_), "");
}

TEST_F(CacheTest, OtherFilesAreNotPreparedOnes) {
  const std::string wrong = folder_.write("wrong.h5", "plain text");
  EXPECT_NE(message_of({{wrong}, "byte", {1, 0, 0}}, cache_).find(wrong), std::string::npos);
  const std::string missing = folder_.path("missing.h5");
  EXPECT_NE(message_of({{missing}, "byte", {1, 0, 0}}, cache_).find(missing), std::string::npos);
}

TEST_F(CacheTest, ProcessesThatPrepareAtOnceDoNotDisturbEachOther) {
  const std::string text = folder_.write("long.txt", std::string(200000, 'x') + "\nend");
  const PrepareOptions options{{text}, "byte", {90, 5, 5}};
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      int wrong = 1;
      try {
        std::vector<std::string> notices;
        const TokenFile file = cached_token_file(options, cache_, notices);
        wrong = notices.empty() && file.bytes(Split::kTrain) == 180003 ? 0 : 2;
      } catch (...) {
      }
      _exit(wrong);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  ASSERT_EQ(kept().size(), 1u) << "one file, and nothing temporary";
  EXPECT_EQ(get(options).bytes(Split::kTrain), 180003);
}

}  // namespace
}  // namespace tapemeasure
