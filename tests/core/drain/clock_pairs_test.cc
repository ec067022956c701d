// A recording of a week keeps few clock pairs, and its times stay right.
#include "core/drain/clock_pairs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "trace/open/open_trace.h"

namespace tare::core {
namespace {

constexpr std::uint64_t kClockSecondNs = 1'000'000'000;
constexpr std::uint64_t kWeek = 7 * 24 * 3600 * kClockSecondNs;

// A clock whose rate the system changes by 200 ppm up and down each hour.
std::uint64_t stamp_at(std::uint64_t ns) {
  const double hours = static_cast<double>(ns) / (3600.0 * kClockSecondNs);
  const double swing = 200e-6 * 3600.0 * kClockSecondNs / 6.283185307 * std::sin(hours * 6.283185307);
  return 3 * static_cast<std::uint64_t>(static_cast<double>(ns) + swing + 1e9);
}

TEST(ClockPairs, AWeekHasFewAndItsTimesAreRight) {
  ClockPairs pairs;
  pairs.begin({stamp_at(0), 0});
  std::uint64_t ns = 0;
  while (ns < kWeek) {
    ns += ns < 600 * kClockSecondNs ? kClockSecondNs / 100 : kClockSecondNs / 4;
    pairs.offer({stamp_at(ns), ns});
  }
  pairs.add({stamp_at(ns), ns});
  EXPECT_LT(pairs.all().size(), 40'000u);
  const trace::Clock clock(pairs.all());
  for (std::uint64_t at = kClockSecondNs; at < kWeek; at += kWeek / 9973) {
    const double error = std::abs(static_cast<double>(clock.ns(stamp_at(at))) - static_cast<double>(at));
    EXPECT_LT(error, 1e-6 * static_cast<double>(at) + 1e6) << at;
  }
}

TEST(ClockPairs, EachIsWrittenOnce) {
  ClockPairs pairs;
  pairs.begin({1, 0});
  EXPECT_EQ(pairs.take_unwritten().size(), 1u);
  EXPECT_TRUE(pairs.take_unwritten().empty());
  pairs.offer({2, ClockPairs::kFirstGapNs - 1});  // too near
  EXPECT_TRUE(pairs.take_unwritten().empty());
  pairs.offer({2, ClockPairs::kFirstGapNs});
  EXPECT_EQ(pairs.take_unwritten().front().stamp, 2u);
}

}  // namespace
}  // namespace tare::core
