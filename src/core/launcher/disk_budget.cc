// Doublings for the limit on disk: see disk_budget.h.
// SPDX-License-Identifier: Apache-2.0
#include "core/launcher/disk_budget.h"

#include <algorithm>
#include <bit>

#include "trace/model/sampling_limit.h"

namespace tare::core {

void DiskBudget::look(std::uint64_t written_bytes, std::uint64_t written_events, std::uint64_t waiting_events) {
  if (!is_given()) return;
  const std::uint64_t of_event = written_events == 0 ? kBytesOfEvent : written_bytes / written_events + 1;
  const std::uint64_t used = written_bytes + waiting_events * std::min(of_event, kBytesOfEvent);
  if (written_bytes >= most_bytes_) is_full_ = true;
  const std::uint64_t left = used < most_bytes_ ? most_bytes_ - used : 1;
  const auto halves = static_cast<std::uint32_t>(std::bit_width(most_bytes_ / left) - 1);
  doublings_ = std::max(doublings_, std::min(halves, trace::kMostDoublings));
}

}  // namespace tare::core
