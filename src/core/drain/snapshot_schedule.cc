// Growth and budget: see snapshot_schedule.h.
#include "core/drain/snapshot_schedule.h"

#include <algorithm>

namespace tare::core {

double SnapshotSchedule::next_cost_ns(std::uint64_t gross_bytes) const {
  const double last_bytes = static_cast<double>(last_gross_bytes_);
  const double last_ns = static_cast<double>(last_cost_ns_);
  const double ns_per_byte = std::max((last_ns - kFixedCostNs) / last_bytes, kLeastCostNsPerByte);
  return last_ns + ns_per_byte * (static_cast<double>(gross_bytes) - last_bytes);
}

bool SnapshotSchedule::has_grown(std::uint64_t gross_bytes) const {
  return wanted_ && gross_bytes >= kFloorBytes &&
         static_cast<double>(gross_bytes) >= kGrowth * static_cast<double>(last_gross_bytes_);
}

bool SnapshotSchedule::peak_is_due(std::uint64_t gross_bytes, const RunTime& run) const {
  if (!has_grown(gross_bytes)) return false;
  if (last_gross_bytes_ == 0) return true;
  const double budget_ns = kCpuBudget * static_cast<double>(run.cpu_ns) +
                           kWallBudget * static_cast<double>(run.wall_ns) + static_cast<double>(kFirstAllowanceNs);
  return static_cast<double>(spent_ns_) + next_cost_ns(gross_bytes) <= budget_ns;
}

void SnapshotSchedule::record_peak(std::uint64_t gross_bytes, std::uint64_t cost_ns) {
  last_gross_bytes_ = gross_bytes;
  last_cost_ns_ = cost_ns;
  spent_ns_ += cost_ns;
}

}  // namespace tare::core
