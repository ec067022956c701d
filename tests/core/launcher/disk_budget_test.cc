// The limit on disk: the distance doubles for each eighth of the room that was left, and sampling stops at the end of
// it.
#include "core/launcher/disk_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tare::core {
namespace {

constexpr std::uint64_t kMost = 9'661'880;  // 8 MiB for samples and a byte

TEST(DiskBudget, DoublesForEachEighthOfTheRoomThatWasLeft) {
  DiskBudget budget(kMost);
  ASSERT_TRUE(budget.is_given());
  const struct {
    std::uint64_t used_bytes;
    std::uint32_t doublings;
  } looks[] = {{0, 0},          {1 << 20, 0},                    // of 8 MiB
               {1'060'000, 1},  {1'960'000, 1},                  // 15/64 of it
               {1'970'000, 2},  {4 << 20, 5},   {3'000'000, 5},  // never fewer
               {7'950'000, 22}, {8'388'000, 23}};
  for (const auto& look : looks) {
    budget.look(look.used_bytes, look.used_bytes / 10, 0);
    EXPECT_EQ(budget.doublings(), look.doublings) << look.used_bytes;
    EXPECT_FALSE(budget.is_full());
  }
  budget.look((8 << 20) + 1, 700'000, 0);
  EXPECT_TRUE(budget.is_full());
  budget.look(6 << 20, 700'000, 0);
  EXPECT_TRUE(budget.is_full());
}

// Whatever the first distance, a run ends with a distance that fits its length.
TEST(DiskBudget, LongRunsFit) {
  for (const double times : {0.1, 1.0, 10.0, 1'000.0, 100'000.0}) {  // of the room, without doublings
    DiskBudget budget(kMost);
    double written = 0;
    constexpr int kLooks = 1'000'000;
    for (int look = 0; look < kLooks; ++look) {
      written += times * (8 << 20) / kLooks / static_cast<double>(std::uint64_t{1} << budget.doublings());
      budget.look(static_cast<std::uint64_t>(written), static_cast<std::uint64_t>(written / 10), 0);
    }
    EXPECT_FALSE(budget.is_full()) << times;
    // The least distance that would have fitted, and a few doublings.
    const double least = std::max(std::log2(times), 0.0);
    EXPECT_GE(budget.doublings(), least) << times;
    EXPECT_LE(budget.doublings(), 1.3 * least + 3.5) << times;
  }
}

TEST(DiskBudget, CountsEventsThatWaitBeforeTheyAreWritten) {
  DiskBudget budget(kMost);
  budget.look(0, 0, 65'000);  // 16 bytes each, as long as nothing is known
  EXPECT_EQ(budget.doublings(), 0u);
  budget.look(0, 0, 66'500);
  EXPECT_EQ(budget.doublings(), 1u);
  budget.look(1 << 19, 1 << 19, 1 << 19);  // 2 bytes each
  EXPECT_EQ(budget.doublings(), 1u);
  budget.look(1 << 20, 1 << 20, 4 << 20);  // all the room: as often as it can
  EXPECT_EQ(budget.doublings(), 23u);
  EXPECT_FALSE(budget.is_full());  // of written bytes
}

// Otherwise a first block of 112,000 events would count as 1.8 MB.
TEST(DiskBudget, BlocksAreSmallWhereTheRoomIs) {
  EXPECT_EQ(DiskBudget(256 << 10).block_events(), 1024u);
  EXPECT_EQ(DiskBudget(1 << 20).block_events(), 3328u);
  EXPECT_EQ(DiskBudget(kMost).block_events(), 32'768u);
  EXPECT_EQ(DiskBudget(std::uint64_t{1} << 40).block_events(), 114'688u);
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
