// Growth and budget: see snapshot_schedule.h.
#include "core/drain/snapshot_schedule.h"

#include <algorithm>

namespace tare::core {

double SnapshotSchedule::next_cost_ns(std::uint64_t gross_bytes) const {
  if (last_gross_bytes_ == 0) return kFixedCostNs + kLeastCostNsPerByte * static_cast<double>(gross_bytes);
  const double last_bytes = static_cast<double>(last_gross_bytes_);
  const double last_ns = static_cast<double>(last_cost_ns_);
  const double ns_per_byte = std::clamp((last_ns - kFixedCostNs) / last_bytes, kLeastCostNsPerByte, kMostCostNsPerByte);
  return last_ns + ns_per_byte * (static_cast<double>(gross_bytes) - last_bytes);
}

double SnapshotSchedule::budget_ns(const RunTime& run) const {
  const double of_short_run = snapshots_ == TakeSnapshots::NearPeaksAndExit
                                  ? kHalf * static_cast<double>(std::min(run.wall_ns, kShortRunNs))
                                  : 0;
  return kCpuBudget * static_cast<double>(run.cpu_ns) + kWallBudget * static_cast<double>(run.wall_ns) +
         static_cast<double>(kFirstAllowanceNs) + of_short_run;
}

bool SnapshotSchedule::has_grown(std::uint64_t gross_bytes) {
  if (!wanted()) return false;
  if (gross_bytes >= heap_.most_bytes) {
    heap_.most_bytes = gross_bytes;
    heap_.least_since_bytes = gross_bytes;
  }
  heap_.least_since_bytes = std::min(heap_.least_since_bytes, gross_bytes);
  // Blocks that were allocated after the greatest heap don't belong to the peak.
  const std::uint64_t of_peak = heap_.least_since_bytes;
  return of_peak >= kFloorBytes && static_cast<double>(of_peak) >= kGrowth * static_cast<double>(last_gross_bytes_);
}

bool SnapshotSchedule::is_growing(std::uint64_t gross_bytes, const RunTime& run) {
  if (static_cast<double>(heap_.most_bytes) > static_cast<double>(heap_.grown_bytes) / kFallen) {
    heap_.grown_bytes = heap_.most_bytes;
    heap_.grown_wall_ns = run.wall_ns;
  }
  return static_cast<double>(gross_bytes) >= kFallen * static_cast<double>(heap_.most_bytes) &&
         run.wall_ns < heap_.grown_wall_ns + kStandsNs;
}

bool SnapshotSchedule::peak_is_due(std::uint64_t gross_bytes, const RunTime& run) {
  if (!has_grown(gross_bytes)) return false;
  double left_ns = budget_ns(run) - static_cast<double>(spent_ns_);
  if (last_gross_bytes_ != 0 && is_growing(gross_bytes, run)) {
    const double growth = static_cast<double>(gross_bytes) / static_cast<double>(last_gross_bytes_) - 1;
    left_ns *= std::min(growth / 2, 1.0);
  }
  return next_cost_ns(gross_bytes) <= left_ns;
}

void SnapshotSchedule::record_peak(std::uint64_t gross_bytes, std::uint64_t cost_ns) {
  last_gross_bytes_ = gross_bytes;
  last_cost_ns_ = cost_ns;
  spent_ns_ += cost_ns;
}

}  // namespace tare::core
