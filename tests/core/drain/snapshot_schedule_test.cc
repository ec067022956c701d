// Looks near the peak: after growth, and within their share of the run.
#include "core/drain/snapshot_schedule.h"

#include <gtest/gtest.h>

namespace tare::core {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kSecondNs = 1'000'000'000;

TEST(SnapshotSchedule, WaitsForGrowth) {
  SnapshotSchedule schedule(TakeSnapshots::PeaksAndExit);
  const RunTime long_run{100 * kSecondNs, 100 * kSecondNs};
  EXPECT_FALSE(schedule.peak_is_due(kMiB - 1, long_run));
  EXPECT_TRUE(schedule.peak_is_due(kMiB, long_run));
  schedule.record_peak(10 * kMiB, 1);
  EXPECT_FALSE(schedule.has_grown(10 * kMiB + kMiB / 4));
  EXPECT_TRUE(schedule.has_grown(11 * kMiB));
  EXPECT_TRUE(schedule.peak_is_due(11 * kMiB, long_run));
  EXPECT_FALSE(SnapshotSchedule().has_grown(11 * kMiB));
}

TEST(SnapshotSchedule, TakesAShareOfTheCpuTimeAndALittleOfTheRest) {
  SnapshotSchedule schedule(TakeSnapshots::PeaksAndExit);
  schedule.record_peak(10 * kMiB, kSecondNs / 10);  // the next, of twice the heap, would take 0.184 s
  const auto due = [&](double wall_s, double cpu_s) {
    const auto ns = [](double seconds) { return static_cast<std::uint64_t>(seconds * kSecondNs); };
    return schedule.peak_is_due(20 * kMiB, {ns(wall_s), ns(cpu_s)});
  };
  EXPECT_FALSE(due(4.5, 4.5));
  EXPECT_TRUE(due(5.5, 5.5));  // 0.315 = 0.04 * 5.5 + 0.01 * 5.5 + 0.04, for 0.284
  EXPECT_FALSE(due(20, 1));    // a busy machine
  EXPECT_TRUE(due(23, 1));
}

// A snapshot of 1.6 MiB of Python's is mostly fixed cost: the peak of 15 MiB, 0.1 s later, is within the allowance.
TEST(SnapshotSchedule, TakesTheFixedCostOnceOnly) {
  SnapshotSchedule schedule(TakeSnapshots::PeaksAndExit);
  schedule.record_peak(16 * kMiB / 10, 9'800'000);
  EXPECT_TRUE(schedule.peak_is_due(15 * kMiB, {kSecondNs / 5, kSecondNs / 5}));
  EXPECT_FALSE(schedule.peak_is_due(64 * kMiB, {kSecondNs / 5, kSecondNs / 5}));
}

}  // namespace
}  // namespace tare::core
