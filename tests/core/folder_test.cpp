// SPDX-License-Identifier: MIT
// Folders, and who holds one.
#include "core/file/folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "core/error.h"
#include "tests/core/temporary_folder.h"

namespace tapemeasure::testing {
namespace {

TEST(Folder, IsMadeWithThoseAboveIt) {
  const TemporaryFolder folder;
  make_folder(folder.path("a/b/c"));
  make_folder(folder.path("a/b"));
  EXPECT_TRUE(std::filesystem::is_directory(folder.path("a/b/c")));
  folder.write("file", "");
  EXPECT_THROW(make_folder(folder.path("file/below")), CheckpointError);
}

TEST(FolderLock, IsHeldByOneAndNamesIt) {
  const TemporaryFolder folder;
  EXPECT_EQ(lock_holder(folder.path()), "");
  auto lock = std::make_unique<FolderLock>(folder.path(), "trainer");
  const std::string wanted = "pid " + std::to_string(getpid()) + " on ";
  EXPECT_TRUE(lock_holder(folder.path()).starts_with(wanted)) << lock_holder(folder.path());
  try {
    const FolderLock second(folder.path(), "ablation");
    ADD_FAILURE() << "two hold it";
  } catch (const CheckpointError& error) {
    EXPECT_NE(std::string(error.what()).find("another ablation is at work here (" + wanted),
              std::string::npos)
        << error.what();
  }
  lock.reset();
  EXPECT_FALSE(std::filesystem::exists(folder.path("lock")));
  const FolderLock again(folder.path(), "trainer");
}

TEST(FolderLock, LeftByAKilledProcessIsTakenOver) {
  const TemporaryFolder folder;
  folder.write("lock", "pid 1 on nowhere, and some more than a new text has");
  EXPECT_EQ(lock_holder(folder.path()), "");
  const FolderLock lock(folder.path(), "trainer");
  EXPECT_EQ(lock_holder(folder.path()).find("nowhere"), std::string::npos);
}

TEST(FolderLock, IsTakenWhileOthersLook) {
  const TemporaryFolder folder;
  std::atomic<bool> done = false;
  std::thread looks([&] {
    while (!done) {
      lock_holder(folder.path());
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  for (int i = 0; i < 200; ++i) EXPECT_NO_THROW(FolderLock(folder.path(), "trainer"));
  done = true;
  looks.join();
}

}  // namespace
}  // namespace tapemeasure::testing
