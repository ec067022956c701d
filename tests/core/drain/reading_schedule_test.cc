// Readings near the greatest RSS: after growth, and within their share of the run.
#include "core/drain/reading_schedule.h"

#include <gtest/gtest.h>

namespace tare::core {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSecond = 1000 * kMs;

TEST(ReadingSchedule, LooksEvery5MsAndLaterEveryHundredthOfTheRun) {
  const ReadingBudget budget(0);
  ReadingSchedule schedule(kSecond);
  EXPECT_FALSE(schedule.look_is_due(kSecond + 4 * kMs));
  EXPECT_TRUE(schedule.look_is_due(kSecond + 5 * kMs));
  EXPECT_FALSE(schedule.reading_is_due(kSecond + 5 * kMs, 1000, budget));  // it may end at once
  EXPECT_EQ(schedule.next_look_ns(), kSecond + 10 * kMs);
  EXPECT_TRUE(schedule.reading_is_due(11 * kSecond, 1000, budget));
  EXPECT_EQ(schedule.next_look_ns(), 11 * kSecond + 100 * kMs);
}

TEST(ReadingSchedule, ReadsAfterGrowth) {
  const ReadingBudget budget(0);
  ReadingSchedule schedule(0);
  schedule.took(kSecond, 1000, kMs);
  EXPECT_FALSE(schedule.reading_is_due(2 * kSecond, 1004, budget));
  EXPECT_TRUE(schedule.reading_is_due(2 * kSecond, 1005, budget));
  schedule.took(kSecond, 900, kMs);  // one that came late doesn't lower the mark
  EXPECT_FALSE(schedule.reading_is_due(2 * kSecond, 1004, budget));
}

TEST(ReadingSchedule, SpendsHalfOfTheBudgetOnSmallSteps) {
  ReadingBudget budget(0);
  ReadingSchedule schedule(0);
  schedule.took(kSecond, 1000, kMs);
  const std::uint64_t soon = kSecond + kSecond / 5;
  EXPECT_TRUE(schedule.reading_is_due(soon, 1020, budget));
  EXPECT_FALSE(schedule.reading_is_due(soon, 1010, budget));
  budget.spent(12 * kMs);  // of 26 ms
  EXPECT_FALSE(schedule.reading_is_due(soon, 1020, budget));
  EXPECT_TRUE(schedule.reading_is_due(2 * soon, 1020, budget));
  budget.spent(20 * kMs);  // of 32 ms
  EXPECT_FALSE(schedule.reading_is_due(2 * soon, 1020, budget));
}

}  // namespace
}  // namespace tare::core
