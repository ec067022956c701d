// Times of a recording as time stamps of its events.
#pragma once

#include <cstdint>
#include <limits>

#include "trace/open/open_trace.h"

namespace tare::core {

// The last stamp that the clock doesn't place behind `ns`.
inline std::uint64_t last_stamp_at(const trace::Clock& clock, std::uint64_t ns) {
  std::uint64_t low = 0;
  std::uint64_t high = std::numeric_limits<std::uint64_t>::max() >> 1;
  if (clock.ns(high) <= ns) return std::numeric_limits<std::uint64_t>::max();
  while (low + 1 < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    (clock.ns(middle) <= ns ? low : high) = middle;
  }
  return low;
}

}  // namespace tare::core
