// Growth and budget: see snapshot_schedule.h.
#include "core/drain/snapshot_schedule.h"

namespace tare::core {

bool SnapshotSchedule::has_grown(std::uint64_t gross_bytes) const {
  return wanted_ && gross_bytes >= kFloorBytes &&
         static_cast<double>(gross_bytes) >= kGrowth * static_cast<double>(last_gross_bytes_);
}

bool SnapshotSchedule::peak_is_due(std::uint64_t gross_bytes, const RunTime& run) const {
  if (!has_grown(gross_bytes)) return false;
  if (last_gross_bytes_ == 0) return true;
  // The next snapshot costs as much as the last one, scaled by the growth of the heap.
  const double next_ns =
      static_cast<double>(last_cost_ns_) * static_cast<double>(gross_bytes) / static_cast<double>(last_gross_bytes_);
  const double budget_ns = kCpuBudget * static_cast<double>(run.cpu_ns) +
                           kWallBudget * static_cast<double>(run.wall_ns) + static_cast<double>(kFirstAllowanceNs);
  return static_cast<double>(spent_ns_) + next_ns <= budget_ns;
}

void SnapshotSchedule::record_peak(std::uint64_t gross_bytes, std::uint64_t cost_ns) {
  last_gross_bytes_ = gross_bytes;
  last_cost_ns_ = cost_ns;
  spent_ns_ += cost_ns;
}

}  // namespace tare::core
