// Readings near the greatest RSS: when it stands still, now and then while it grows, and within their share of the run.
#include "core/drain/reading_schedule.h"

#include <gtest/gtest.h>

namespace tare::core {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSecond = 1000 * kMs;

TEST(ReadingSchedule, LooksEvery5MsAndLaterEveryHundredthOfTheRun) {
  const ReadingBudget budget;
  ReadingSchedule schedule(kSecond);
  EXPECT_FALSE(schedule.check_is_due(kSecond + 4 * kMs));
  EXPECT_TRUE(schedule.check_is_due(kSecond + 5 * kMs));
  EXPECT_FALSE(schedule.reading_is_due(kSecond + 5 * kMs, 1000, budget));  // it may end at once
  EXPECT_EQ(schedule.next_look_ns(), kSecond + 10 * kMs);
  EXPECT_TRUE(schedule.reading_is_due(11 * kSecond, 1000, budget));
  EXPECT_EQ(schedule.next_look_ns(), 11 * kSecond + 100 * kMs);
}

TEST(ReadingSchedule, ReadsWhenTheRssStandsStill) {
  ReadingBudget budget;
  ReadingSchedule schedule(0);
  schedule.record(kSecond, 1000, kMs, budget);
  EXPECT_FALSE(schedule.reading_is_due(kSecond + 10 * kMs, 1100, budget));  // it grows
  EXPECT_TRUE(schedule.reading_is_due(kSecond + 20 * kMs, 1102, budget));
  schedule.record(kSecond + 20 * kMs, 1105, kMs, budget);
  EXPECT_FALSE(schedule.reading_is_due(kSecond + 30 * kMs, 1110, budget));  // nothing new
  schedule.record(kSecond + 40 * kMs, 900, kMs, budget);                    // one that came late doesn't lower the mark
  EXPECT_FALSE(schedule.reading_is_due(kSecond + 50 * kMs, 1110, budget));
}

TEST(ReadingSchedule, ReadsNowAndThenWhileTheRssGrows) {
  ReadingBudget budget;
  ReadingSchedule schedule(0);
  schedule.record(kSecond, 1000, kMs, budget);
  EXPECT_FALSE(schedule.reading_is_due(kSecond + 10 * kMs, 1400, budget));
  EXPECT_TRUE(schedule.reading_is_due(kSecond + 20 * kMs, 1500, budget));
  ReadingSchedule slow(0);
  slow.record(kSecond, 1000, kMs, budget);
  EXPECT_FALSE(slow.reading_is_due(kSecond + 400 * kMs, 1100, budget));
  EXPECT_TRUE(slow.reading_is_due(kSecond + 500 * kMs, 1200, budget));
}

TEST(ReadingSchedule, KeepsWithinItsShareAndTheCommonAllowance) {
  ReadingBudget budget;
  ReadingSchedule schedule(0);
  schedule.record(kSecond, 1000, 20 * kMs, budget);  // 10 ms are its own
  EXPECT_EQ(budget.left_ns(), 30e6);
  // The next takes 20 ms, too. For twice the RSS half of 30 ms may be spent.
  EXPECT_FALSE(schedule.reading_is_due(kSecond + 100 * kMs, 2000, budget));
  EXPECT_FALSE(schedule.reading_is_due(kSecond + 200 * kMs, 2000, budget));
  // Half of 30 + 5 ms, later of 30 + 11 ms.
  EXPECT_FALSE(schedule.reading_is_due(2 * kSecond + 500 * kMs, 2000, budget));
  EXPECT_TRUE(schedule.reading_is_due(3 * kSecond + kSecond / 10, 2000, budget));
  // 100 MB more take 1.5 ms more.
  ReadingSchedule large(0);
  large.record(kSecond, 100'000'000, 20 * kMs, budget);
  EXPECT_FALSE(large.reading_is_due(4 * kSecond, 200'000'000, budget));
  EXPECT_TRUE(large.reading_is_due(5 * kSecond, 200'000'000, budget));
}

TEST(ReadingSchedule, SpendsAllOnAPeakThatStands) {
  ReadingBudget budget;
  ReadingSchedule schedule(0);
  schedule.record(kSecond, 1000, 20 * kMs, budget);
  // 20 ms, for a tenth more: a twentieth of 30 ms may be spent, but all after ten looks.
  for (std::uint64_t look = 0; look <= 9; ++look) {
    EXPECT_FALSE(schedule.reading_is_due(kSecond + look * 10 * kMs, 1100, budget)) << look;
  }
  EXPECT_TRUE(schedule.reading_is_due(kSecond + 100 * kMs, 1100, budget));
}

TEST(ReadingSchedule, NeedsRoomForAsMuchAsIsTouchedMeanwhile) {
  ReadingBudget budget;
  ReadingSchedule schedule(0);
  EXPECT_EQ(schedule.needed_room_bytes(0), 4'000'000u);
  schedule.record(kSecond, 1 << 30, 10 * kMs, budget);
  EXPECT_EQ(schedule.needed_room_bytes(1 << 29), 40'000'000u);
  EXPECT_EQ(schedule.needed_room_bytes((1 << 30) + 4096), 40'000'240u);
}

}  // namespace
}  // namespace tare::core
