// Decides when a process is stopped for a snapshot: candidates for its peak, within a budget.
#pragma once

#include <cstdint>

#include "core/drain/recording_outcome.h"

namespace tare::core {

// How long a process has run.
struct RunTime {
  std::uint64_t wall_ns = 0;
  std::uint64_t cpu_ns = 0;  // of all its threads
};

// A candidate is due when the heap is 5 % larger than at the last one. By that rule alone a program that grows from 1
// MiB to 1 GiB would be stopped 142 times, for 21 times the time to read its whole heap. So snapshots also have a limit
// in CPU time of the run so far, and the table has the distance of the last candidate from the peak.
//
// A snapshot costs a fixed part (threads, mappings, roots) and a part for each byte of the heap. Python's heap of 1.6
// MiB took 9.8 ms, and 15 MiB took 14.8 ms. A cost in proportion to the heap would keep a program that grows early from
// its second snapshot.
class SnapshotSchedule {
 public:
  static constexpr std::uint64_t kFloorBytes = 1 << 20;  // smaller heaps: the snapshot at the exit is enough
  static constexpr double kGrowth = 1.05;
  static constexpr double kCpuBudget = 0.04;
  static constexpr double kWallBudget = 0.01;                     // a server that waits has time for looks
  static constexpr std::uint64_t kFirstAllowanceNs = 40'000'000;  // lets a short program have one at all
  static constexpr double kFixedCostNs = 16e6;                    // of Python on a busy machine; 8e6 on an idle one
  static constexpr double kLeastCostNsPerByte = 1;                // twice what the heaps above took

  SnapshotSchedule() = default;
  explicit SnapshotSchedule(TakeSnapshots snapshots) : wanted_(snapshots == TakeSnapshots::PeaksAndExit) {}

  bool wanted() const { return wanted_; }
  // False: no snapshot is due at any time.
  bool has_grown(std::uint64_t gross_bytes) const;
  bool peak_is_due(std::uint64_t gross_bytes, const RunTime& run) const;
  // A candidate was taken: it made the program and the launcher spend so long.
  void record_peak(std::uint64_t gross_bytes, std::uint64_t cost_ns);

 private:
  double next_cost_ns(std::uint64_t gross_bytes) const;

  bool wanted_ = false;
  std::uint64_t last_gross_bytes_ = 0;
  std::uint64_t last_cost_ns_ = 0;
  std::uint64_t spent_ns_ = 0;
};

}  // namespace tare::core
