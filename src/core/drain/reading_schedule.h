// When the launcher reads a process's resident memory: near its greatest RSS, and within a share of the run.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tare::core {

// The budget of all processes of a launch for readings beyond their own shares, so that a build with thousands of short
// processes stays cheap.
class ReadingBudget {
 public:
  static constexpr std::uint64_t kAllowanceNs = 40'000'000;  // CPU time

  double left_ns() const { return static_cast<double>(kAllowanceNs - std::min(spent_ns_, kAllowanceNs)); }
  void spent(std::uint64_t ns) { spent_ns_ += ns; }

 private:
  std::uint64_t spent_ns_ = 0;
};

// The RSS alone is read every 5 ms, later after every 100th of the run so far, so that a peak of 1 % of the run is
// found. All of the memory is read when the RSS is larger than at the last reading and has stood still since the last
// look. While it grows, it is read when it is half larger, or the run is. Small steps at the start must leave enough of
// the budget for the peak. So a reading may use a share of the remaining budget: half of the RSS's relative growth; a
// quarter while it grows; at least half if the run is half longer; all if the RSS hasn't changed for ten checks.
class ReadingSchedule {
 public:
  static constexpr std::uint64_t kFirstPeriodNs = 5'000'000;
  static constexpr std::uint64_t kPeriods = 100;            // in a run
  static constexpr std::uint64_t kFirstRunNs = 20'000'000;  // processes that end earlier aren't read
  static constexpr std::uint64_t kGuessedCostNs = 1'000'000;
  static constexpr double kNsPerByte = 60.0 / 4096;  // the kernel visits each resident page
  static constexpr double kFilledBytesPerNs = 4;     // a core touches new pages at 1 to 2; a reading may lose its core
  static constexpr double kShare = 0.01;             // of its run that a process may take without the common allowance
  static constexpr double kStep = 1.5;
  static constexpr double kLeastStep = 1.02;
  static constexpr double kStands = 1.005;
  static constexpr std::uint32_t kLongStanding = 10;  // looks: 50 ms, or a tenth of the run

  ReadingSchedule() = default;
  explicit ReadingSchedule(std::uint64_t begin_ns) : begin_ns_(begin_ns), next_look_ns_(begin_ns + kFirstPeriodNs) {}

  bool check_is_due(std::uint64_t now_ns) const { return now_ns >= next_look_ns_; }
  std::uint64_t next_look_ns() const { return next_look_ns_; }
  // Called once a look. True: read all.
  bool reading_is_due(std::uint64_t now_ns, std::uint64_t rss_bytes, const ReadingBudget& budget);
  // The memory that other processes may begin to use while such a reading lasts. With less room in the control group, a
  // reading isn't safe: a process that the kernel kills while it's read gives its memory back only after the reading,
  // and the kernel would kill another one in the meantime.
  std::uint64_t needed_room_bytes(std::uint64_t rss_bytes) const;
  void record(std::uint64_t now_ns, std::uint64_t rss_bytes, std::uint64_t cost_ns, ReadingBudget& budget);

 private:
  double own_left_ns(std::uint64_t run_ns) const;
  double next_cost_ns(std::uint64_t rss_bytes) const;

  std::uint64_t begin_ns_ = 0;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t seen_rss_bytes_ = 0;  // at the last look
  std::uint64_t last_run_ns_ = 0;     // up to the last reading
  std::uint64_t last_rss_bytes_ = 0;
  std::uint64_t last_cost_ns_ = kGuessedCostNs;
  std::uint64_t spent_ns_ = 0;
  std::uint32_t standing_looks_ = 0;
};

}  // namespace tare::core
