// Doublings for the limit on disk: see disk_budget.h.
// SPDX-License-Identifier: Apache-2.0
#include "core/launcher/disk_budget.h"

#include <algorithm>
#include <cmath>

#include "trace/model/sampling_rules.h"
#include "trace/open/block_packer.h"

namespace tare::core {

namespace {

constexpr std::uint64_t kFewestEvents = 1024;  // of a block: its columns are compressed one by one

}  // namespace

std::size_t DiskBudget::block_events() const {
  return std::clamp<std::uint64_t>(most_bytes_ / 16 / kBytesOfEvent, kFewestEvents, trace::kBlockEvents);
}

void DiskBudget::look(std::uint64_t written_bytes, std::uint64_t written_events, std::uint64_t waiting_events) {
  if (!is_given()) return;
  const std::uint64_t of_event = written_events == 0 ? kBytesOfEvent : written_bytes / written_events + 1;
  const std::uint64_t used = written_bytes + waiting_events * std::min(of_event, kBytesOfEvent);
  if (written_bytes >= most_bytes_) is_full_ = true;
  const std::uint64_t left = used < most_bytes_ ? most_bytes_ - used : 1;
  const double eighths = std::log(static_cast<double>(most_bytes_) / static_cast<double>(left)) / std::log(8.0 / 7);
  const auto wanted = static_cast<std::uint32_t>(std::min<double>(eighths, trace::kMostDoublings));
  doublings_ = std::max(doublings_, wanted);
}

}  // namespace tare::core
