// Stamps to nanoseconds, between and beyond the calibration pairs.
#include <gtest/gtest.h>

#include "trace/open/open_trace.h"

namespace tare::trace {
namespace {

TEST(Clock, InterpolatesAndGoesOnAtTheNearestRate) {
  const ClockPair pairs[] = {
      {1000, 5'000'000}, {3'000'000 + 1000, 6'000'000}, {3'000'000 + 1000 + 8'000'000, 10'000'000}};
  const Clock clock(pairs);
  EXPECT_EQ(clock.ns(0), 0u);
  EXPECT_EQ(clock.ns(1000), 0u);
  EXPECT_EQ(clock.ns(1000 + 1'500'000), 500'000u);
  EXPECT_EQ(clock.ns(1000 + 3'000'000), 1'000'000u);
  EXPECT_EQ(clock.ns(1000 + 3'000'000 + 4'000'000), 3'000'000u);
  EXPECT_EQ(clock.ns(1000 + 3'000'000 + 8'000'000 + 2'000'000), 6'000'000u);
  EXPECT_EQ(clock.ns(1000 + 1'500'000), 500'000u);  // back again
}

TEST(Clock, LeavesOutPairsTooCloseToTellARate) {
  const ClockPair pairs[] = {{0, 0}, {100, 900}, {2'000'000, 1'000'000}};
  EXPECT_EQ(Clock(pairs).ns(1'000'000), 500'000u);
}

TEST(Clock, SurvivesNonsense) {
  EXPECT_EQ(Clock({}).ns(5), 0u);
  const ClockPair one[] = {{10, 10}};
  EXPECT_EQ(Clock(one).ns(15), 5u);
  const ClockPair pairs[] = {{0, 0}, {1, 1'000'000'000'000}};
  EXPECT_GT(Clock(pairs).ns(~std::uint64_t{0}), 1'000'000'000'000u);
}

}  // namespace
}  // namespace tare::trace
