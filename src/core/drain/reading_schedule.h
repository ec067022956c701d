// When the launcher reads a process's resident memory: near its greatest RSS, and within a share of the run.
#pragma once

#include <cstdint>

namespace tare::core {

// What readings may cost: of all processes together, so that a build's thousands of short ones stay cheap.
class ReadingBudget {
 public:
  static constexpr std::uint64_t kAllowanceNs = 20'000'000;  // CPU time
  static constexpr double kShare = 0.005;                    // of the time since the launch

  explicit ReadingBudget(std::uint64_t begin_ns) : begin_ns_(begin_ns) {}

  // Whether `next_ns` more fit into that share of the budget.
  bool allows(double next_ns, double share, std::uint64_t now_ns) const {
    const double whole = static_cast<double>(kAllowanceNs) + kShare * static_cast<double>(now_ns - begin_ns_);
    return static_cast<double>(spent_ns_) + next_ns <= share * whole;
  }
  void spent(std::uint64_t ns) { spent_ns_ += ns; }

 private:
  std::uint64_t begin_ns_;
  std::uint64_t spent_ns_ = 0;
};

// The RSS alone is looked up every 5 ms, later after every 100th of the run so far: a peak that stands for 1 % of the
// run is seen. All of the memory is read when the RSS has grown and the run is a quarter longer than at the last
// reading. While less than half of the budget is spent, growth by 2 % is enough.
class ReadingSchedule {
 public:
  static constexpr std::uint64_t kFirstPeriodNs = 5'000'000;
  static constexpr std::uint64_t kPeriods = 100;            // in a run
  static constexpr std::uint64_t kFirstRunNs = 20'000'000;  // processes that end earlier aren't read
  static constexpr std::uint64_t kGuessedCostNs = 1'000'000;
  static constexpr double kStep = 1.02;
  static constexpr double kLeastStep = 1.005;
  static constexpr double kLonger = 1.25;

  ReadingSchedule() = default;
  explicit ReadingSchedule(std::uint64_t begin_ns) : begin_ns_(begin_ns), next_look_ns_(begin_ns + kFirstPeriodNs) {}

  bool look_is_due(std::uint64_t now_ns) const { return now_ns >= next_look_ns_; }
  std::uint64_t next_look_ns() const { return next_look_ns_; }
  // Called once a look. True: read all.
  bool reading_is_due(std::uint64_t now_ns, std::uint64_t rss_bytes, const ReadingBudget& budget);
  void took(std::uint64_t now_ns, std::uint64_t rss_bytes, std::uint64_t cost_ns);

 private:
  std::uint64_t begin_ns_ = 0;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t last_run_ns_ = 0;  // up to the last reading
  std::uint64_t last_rss_bytes_ = 0;
  std::uint64_t last_cost_ns_ = kGuessedCostNs;
};

}  // namespace tare::core
