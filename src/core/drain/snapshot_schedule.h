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

// A candidate is due when 5 % more bytes of the greatest heap so far are there than in the last candidate. By that rule
// alone a program that grows from 1 MiB to 1 GiB would be stopped 142 times, for 21 times the time to read its whole
// heap. So snapshots also have a limit in time of the run so far, and the table has the distance of the last candidate
// from the peak.
//
// The candidate that counts is the last one before the peak or the first one after it, and no one knows when that is.
// So while the heap grows, a candidate may take a share of the budget that is left, half of its growth since the last
// one: half of it for a heap twice as large. When the heap stands or falls, a candidate may take all that is left.
// Without this rule node's candidate had 12 % of its peak, and that of a program in Rust was taken when 89 % of it was
// freed.
//
// A snapshot costs a fixed part (threads, mappings, roots) and a part for each byte of the heap. Python's heap of 1.6
// MiB took 9.8 ms, and 15 MiB took 14.8 ms; node's of 3.4 MB took 96 ms, most of it for V8's own mappings. A cost in
// proportion to the heap would keep a program that grows early from its second snapshot.
class SnapshotSchedule {
 public:
  static constexpr std::uint64_t kFloorBytes = 1 << 20;  // smaller heaps: the snapshot at the exit is enough
  static constexpr double kGrowth = 1.05;
  static constexpr double kCpuBudget = 0.04;
  static constexpr double kWallBudget = 0.01;                     // a server that waits has time for looks
  static constexpr std::uint64_t kFirstAllowanceNs = 40'000'000;  // lets a short program have one at all
  static constexpr double kFixedCostNs = 16e6;                    // of Python on a busy machine; 8e6 on an idle one
  static constexpr double kLeastCostNsPerByte = 1;                // twice what the heaps above took
  static constexpr double kMostCostNsPerByte = 8;                 // perl's heap of small blocks took 6
  static constexpr double kHalf = 0.5;                            // of a short run, if contents are recorded
  static constexpr std::uint64_t kShortRunNs = 2'000'000'000;
  static constexpr std::uint64_t kStandsNs = 20'000'000;  // a heap that has not grown for so long stands
  static constexpr double kFallen = 0.98;                 // of the greatest heap: below it the heap falls

  SnapshotSchedule() = default;
  explicit SnapshotSchedule(TakeSnapshots snapshots) : snapshots_(snapshots) {}

  bool wanted() const { return snapshots_ != TakeSnapshots::OnRequest; }
  // To be called often, because it watches the heap. False: no snapshot is due at any time.
  bool has_grown(std::uint64_t gross_bytes);
  bool peak_is_due(std::uint64_t gross_bytes, const RunTime& run);
  // A candidate was taken: it made the program and the launcher spend so long.
  void record_peak(std::uint64_t gross_bytes, std::uint64_t cost_ns);

 private:
  // Sizes of the heap so far, as the functions above were called with them.
  struct Heap {
    std::uint64_t most_bytes = 0;
    std::uint64_t least_since_bytes = 0;  // of the blocks at `most_bytes` no more are left
    std::uint64_t grown_bytes = 0;        // `most_bytes` when it was last noticed to grow
    std::uint64_t grown_wall_ns = 0;
  };

  double next_cost_ns(std::uint64_t gross_bytes) const;
  double budget_ns(const RunTime& run) const;
  bool is_growing(std::uint64_t gross_bytes, const RunTime& run);

  TakeSnapshots snapshots_ = TakeSnapshots::OnRequest;
  Heap heap_;
  std::uint64_t last_gross_bytes_ = 0;
  std::uint64_t last_cost_ns_ = 0;
  std::uint64_t spent_ns_ = 0;
};

}  // namespace tare::core
