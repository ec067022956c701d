// Stamps to nanoseconds: see open_trace.h.
#include <algorithm>

#include "trace/open/open_trace.h"

namespace tare::trace {

namespace {

// Closer pairs can't determine the rate: reading the clock itself costs about 25 ns.
constexpr std::uint64_t kLeastGapNs = 1'000'000;

}  // namespace

Clock::Clock(std::span<const ClockPair> pairs) {
  pairs_.reserve(pairs.size());
  for (const ClockPair& pair : pairs) {
    if (!pairs_.empty() &&
        (pair.stamp <= pairs_.back().stamp || pair.monotonic_ns < pairs_.back().monotonic_ns + kLeastGapNs)) {
      continue;
    }
    pairs_.push_back(pair);
  }
  // A recording of less than a millisecond: its two ends, whatever the rate.
  if (pairs_.size() == 1 && pairs.back().stamp > pairs_.front().stamp &&
      pairs.back().monotonic_ns > pairs_.front().monotonic_ns) {
    pairs_.push_back(pairs.back());
  }
}

std::uint64_t Clock::ns(std::uint64_t stamp) const {
  if (pairs_.empty()) return 0;
  if (pairs_.size() == 1) return stamp > pairs_[0].stamp ? stamp - pairs_[0].stamp : 0;
  if (stamp <= pairs_.front().stamp) return 0;
  if (stamp < pairs_[last_].stamp) last_ = 0;
  if (last_ + 2 < pairs_.size() && stamp >= pairs_[last_ + 1].stamp) {
    const auto after =
        std::upper_bound(pairs_.begin() + static_cast<std::ptrdiff_t>(last_) + 1, pairs_.end() - 1, stamp,
                         [](std::uint64_t value, const ClockPair& pair) { return value < pair.stamp; });
    last_ = static_cast<std::size_t>(after - pairs_.begin()) - 1;
  }
  const ClockPair& from = pairs_[last_];
  const ClockPair& to = pairs_[last_ + 1];
  const double rate =
      static_cast<double>(to.monotonic_ns - from.monotonic_ns) / static_cast<double>(to.stamp - from.stamp);
  const double ns = static_cast<double>(from.monotonic_ns - pairs_.front().monotonic_ns) +
                    static_cast<double>(stamp - from.stamp) * rate;
  return ns < 9e18 ? static_cast<std::uint64_t>(ns) : 9'000'000'000'000'000'000ull;  // a damaged stamp mustn't overflow
}

}  // namespace tare::trace
