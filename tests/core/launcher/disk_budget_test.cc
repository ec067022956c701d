// The limit on disk: the distance doubles for each half of the room that is used, and sampling stops at the end of it.
#include "core/launcher/disk_budget.h"

#include <gtest/gtest.h>

namespace tare::core {
namespace {

constexpr std::uint64_t kMost = 8 << 20;  // of which 7 MiB are for samples

TEST(DiskBudget, DoublesForEachHalfOfTheRoomThatIsUsed) {
  DiskBudget budget(kMost);
  ASSERT_TRUE(budget.is_given());
  const struct {
    std::uint64_t used_bytes;
    std::uint32_t doublings;
  } looks[] = {{0, 0},
               {3'600'000, 0},
               {3'700'000, 1},
               {5'500'000, 1},
               {5'600'000, 2},
               {6'900'000, 4},
               {3'000'000, 4},  // never fewer
               {(7 << 20) - 1, 22}};
  for (const auto& look : looks) {
    budget.look(look.used_bytes, look.used_bytes / 10, 0);
    EXPECT_EQ(budget.doublings(), look.doublings) << look.used_bytes;
    EXPECT_FALSE(budget.is_full());
  }
  budget.look(7 << 20, 700'000, 0);
  EXPECT_TRUE(budget.is_full());
  budget.look(6 << 20, 700'000, 0);
  EXPECT_TRUE(budget.is_full());
}

TEST(DiskBudget, CountsEventsThatWaitBeforeTheyAreWritten) {
  DiskBudget budget(kMost);
  budget.look(0, 0, 229'000);  // 16 bytes each, as long as nothing is known
  EXPECT_EQ(budget.doublings(), 0u);
  budget.look(0, 0, 230'000);
  EXPECT_EQ(budget.doublings(), 1u);
  budget.look(1 << 20, 1 << 20, 2 << 20);  // 2 bytes each
  EXPECT_EQ(budget.doublings(), 1u);
  budget.look(1 << 20, 1 << 20, 3 << 20);  // all the room: as often as it can
  EXPECT_EQ(budget.doublings(), 22u);
  EXPECT_FALSE(budget.is_full());  // of written bytes
}

TEST(DiskBudget, WithoutALimitNothingHappens) {
  DiskBudget budget(0);
  EXPECT_FALSE(budget.is_given());
  budget.look(std::uint64_t{1} << 50, 1, std::uint64_t{1} << 40);
  EXPECT_EQ(budget.doublings(), 0u);
  EXPECT_FALSE(budget.is_full());
}

}  // namespace
}  // namespace tare::core
