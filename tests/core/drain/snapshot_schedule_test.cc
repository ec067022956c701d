// Looks near the peak: after growth, and within their share of the run.
#include "core/drain/snapshot_schedule.h"

#include <gtest/gtest.h>

namespace tare::core {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kSecondNs = 1'000'000'000;

std::uint64_t ns(double seconds) { return static_cast<std::uint64_t>(seconds * kSecondNs); }

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
  const auto due = [&](double wall_s, double cpu_s) {
    SnapshotSchedule schedule(TakeSnapshots::PeaksAndExit);
    schedule.record_peak(10 * kMiB, kSecondNs / 10);  // the next, of twice the heap, would take 0.184 s
    return schedule.peak_is_due(20 * kMiB, {ns(wall_s), ns(cpu_s)});
  };
  EXPECT_FALSE(due(8.5, 8.5));
  EXPECT_TRUE(due(9, 9));  // 0.184 is half of 0.05 * 8.9 + 0.04 - 0.1 of what was spent: the heap doubled
  EXPECT_FALSE(due(20, 1));
  EXPECT_TRUE(due(40, 1));  // a busy machine
}

// A snapshot of 1.6 MiB of Python's is mostly fixed cost: the peak of 15 MiB, 0.1 s later, is within the allowance.
TEST(SnapshotSchedule, TakesTheFixedCostOnceOnly) {
  SnapshotSchedule schedule(TakeSnapshots::PeaksAndExit);
  schedule.record_peak(16 * kMiB / 10, 9'800'000);
  EXPECT_TRUE(schedule.peak_is_due(15 * kMiB, {kSecondNs / 5, kSecondNs / 5}));
  EXPECT_FALSE(schedule.peak_is_due(64 * kMiB, {kSecondNs / 5, kSecondNs / 5}));
}

// Node's 3.4 MB took 96 ms, and 19.4 MB took 168 ms: most of it was for memory beside the heap.
TEST(SnapshotSchedule, TakesASmallHeapsCostAsFixed) {
  SnapshotSchedule schedule(TakeSnapshots::NearPeaksAndExit);
  schedule.record_peak(3'400'000, ns(0.096));
  EXPECT_TRUE(schedule.peak_is_due(19'400'000, {ns(0.6), ns(0.6)}));
}

// A growing heap leaves time for the candidate that counts, when the heap stands or falls.
TEST(SnapshotSchedule, KeepsTimeForTheEndOfGrowth) {
  const auto after = [](double wall_s, std::uint64_t then_bytes) {
    SnapshotSchedule schedule(TakeSnapshots::NearPeaksAndExit);
    schedule.record_peak(40 * kMiB, ns(0.1));
    EXPECT_FALSE(schedule.peak_is_due(44 * kMiB, {ns(0.5), ns(0.5)}));  // a twentieth of 0.21 s that are left
    return schedule.peak_is_due(then_bytes, {ns(wall_s), ns(0.5)});
  };
  EXPECT_FALSE(after(0.51, 44 * kMiB));
  EXPECT_TRUE(after(0.521, 44 * kMiB)) << "it has not grown for 20 ms";
  EXPECT_TRUE(after(0.51, 43 * kMiB)) << "it falls";
}

TEST(SnapshotSchedule, TakesHalfOfAShortRunIfContentsAreRecorded) {
  const auto due = [](TakeSnapshots snapshots, double wall_s) {
    SnapshotSchedule schedule(snapshots);
    schedule.record_peak(10 * kMiB, ns(0.1));
    (void)schedule.peak_is_due(20 * kMiB, {0, 0});
    return schedule.peak_is_due(20 * kMiB, {ns(wall_s), ns(wall_s)});
  };
  EXPECT_FALSE(due(TakeSnapshots::PeaksAndExit, 0.5));
  EXPECT_TRUE(due(TakeSnapshots::NearPeaksAndExit, 0.5));
  EXPECT_FALSE(due(TakeSnapshots::NearPeaksAndExit, 0.4));
}

// The second heap is nearly as large as the first, but none of its blocks is the peak's.
TEST(SnapshotSchedule, LeavesALaterHeapThatIsNotThePeak) {
  SnapshotSchedule schedule(TakeSnapshots::PeaksAndExit);
  const RunTime long_run{100 * kSecondNs, 100 * kSecondNs};
  EXPECT_TRUE(schedule.peak_is_due(50 * kMiB, long_run));
  schedule.record_peak(50 * kMiB, 1);
  EXPECT_TRUE(schedule.has_grown(100 * kMiB));
  EXPECT_FALSE(schedule.has_grown(2 * kMiB));
  EXPECT_FALSE(schedule.has_grown(99 * kMiB));
  EXPECT_TRUE(schedule.has_grown(101 * kMiB));
}

}  // namespace
}  // namespace tare::core
