// SPDX-License-Identifier: MIT
// The real program, killed or failed at every write, flush and rename of a whole run (R26, R28,
// R32, R37): what is left is whole, and a resume ends as the run that nothing happened to.
#include <gtest/gtest.h>

#include "tests/app/faults.h"

namespace tapemeasure::testing {
namespace {

TEST(Faults, KilledBeforeEveryCall) { expect_survival({.action = "before"}); }
TEST(Faults, KilledInTheMiddleOfEveryCall) { expect_survival({.action = "half"}); }
TEST(Faults, KilledAfterEveryCall) { expect_survival({.action = "after"}); }
TEST(Faults, DiskFullAtEveryCall) { expect_survival({.action = std::to_string(ENOSPC)}); }
TEST(Faults, ReadOnlyAtEveryCall) { expect_survival({.action = std::to_string(EROFS)}); }
TEST(Faults, NoPermissionAtEveryCall) { expect_survival({.action = std::to_string(EACCES)}); }

}  // namespace
}  // namespace tapemeasure::testing
