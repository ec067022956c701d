// Growth, time and budget: see reading_schedule.h.
#include "core/drain/reading_schedule.h"

#include <utility>

namespace tare::core {

double ReadingSchedule::own_left_ns(std::uint64_t run_ns) const {
  return std::max(0.0, kShare * static_cast<double>(run_ns) - static_cast<double>(spent_ns_));
}

double ReadingSchedule::next_cost_ns(std::uint64_t rss_bytes) const {
  const double growth = static_cast<double>(rss_bytes) - static_cast<double>(last_rss_bytes_);
  return static_cast<double>(last_cost_ns_) + kNsPerByte * std::max(0.0, growth);
}

std::uint64_t ReadingSchedule::needed_room_bytes(std::uint64_t rss_bytes) const {
  return static_cast<std::uint64_t>(kFilledBytesPerNs * next_cost_ns(rss_bytes));
}

bool ReadingSchedule::reading_is_due(std::uint64_t now_ns, std::uint64_t rss_bytes, const ReadingBudget& budget) {
  const std::uint64_t run_ns = now_ns - begin_ns_;
  next_look_ns_ = now_ns + std::max(kFirstPeriodNs, run_ns / kPeriods);
  const auto rss = static_cast<double>(rss_bytes);
  const auto last_rss = static_cast<double>(last_rss_bytes_);
  const auto seen_rss = static_cast<double>(std::exchange(seen_rss_bytes_, rss_bytes));
  const bool stands = rss <= kStands * seen_rss && seen_rss <= kStands * rss;
  standing_looks_ = stands ? standing_looks_ + 1 : 0;
  if (run_ns < kFirstRunNs || rss < kLeastStep * last_rss) return false;
  const bool is_longer = static_cast<double>(run_ns) >= kStep * static_cast<double>(last_run_ns_);
  if (!stands && !is_longer && rss < kStep * last_rss) return false;
  const double left_ns = own_left_ns(run_ns) + budget.left_ns();
  if (last_rss_bytes_ == 0) return static_cast<double>(kGuessedCostNs) <= left_ns;
  const double growth = rss / last_rss;
  double share = std::min(1.0, (growth - 1) * (stands ? 0.5 : 0.25));
  if (is_longer) share = std::max(share, 0.5);
  if (standing_looks_ >= kLongStanding) share = 1;
  return next_cost_ns(rss_bytes) <= share * left_ns;
}

void ReadingSchedule::record(std::uint64_t now_ns, std::uint64_t rss_bytes, std::uint64_t cost_ns,
                             ReadingBudget& budget) {
  last_run_ns_ = now_ns - begin_ns_;
  last_rss_bytes_ = std::max(last_rss_bytes_, rss_bytes);
  last_cost_ns_ = cost_ns;
  budget.spent(cost_ns - std::min(cost_ns, static_cast<std::uint64_t>(own_left_ns(last_run_ns_))));
  spent_ns_ += cost_ns;
}

}  // namespace tare::core
