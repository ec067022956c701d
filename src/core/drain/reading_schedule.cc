// Growth, time and budget: see reading_schedule.h.
#include "core/drain/reading_schedule.h"

#include <algorithm>

namespace tare::core {

bool ReadingSchedule::reading_is_due(std::uint64_t now_ns, std::uint64_t rss_bytes, const ReadingBudget& budget) {
  const std::uint64_t run_ns = now_ns - begin_ns_;
  next_look_ns_ = now_ns + std::max(kFirstPeriodNs, run_ns / kPeriods);
  const auto rss = static_cast<double>(rss_bytes);
  const auto last_rss = static_cast<double>(last_rss_bytes_);
  if (run_ns < kFirstRunNs || rss < kLeastStep * last_rss) return false;
  const double next_ns = static_cast<double>(last_cost_ns_) * (last_rss_bytes_ == 0 ? 1.0 : rss / last_rss);
  const bool is_longer = static_cast<double>(run_ns) >= kLonger * static_cast<double>(last_run_ns_);
  if (is_longer && budget.allows(next_ns, 1, now_ns)) return true;
  return rss >= kStep * last_rss && budget.allows(next_ns, 0.5, now_ns);
}

void ReadingSchedule::took(std::uint64_t now_ns, std::uint64_t rss_bytes, std::uint64_t cost_ns) {
  last_run_ns_ = now_ns - begin_ns_;
  last_rss_bytes_ = std::max(last_rss_bytes_, rss_bytes);
  last_cost_ns_ = cost_ns;
}

}  // namespace tare::core
