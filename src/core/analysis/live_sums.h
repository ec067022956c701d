// Sums over the live blocks, and the search for the time when their gross bytes were greatest. Sums are fixed-point
// numbers: see kFractionBits.
#pragma once

#include <cstdint>

#include "core/analysis/shape_sums.h"

namespace tare::core {

struct LiveSums {
  std::uint64_t requested_q = 0;
  std::uint64_t usable_q = 0;
  std::uint64_t gross_q = 0;
  std::uint64_t blocks_q = 0;

  void add(const ShapeSums& sums) {
    requested_q += sums.requested_q;
    usable_q += sums.usable_q;
    gross_q += sums.gross_q;
  }
  void remove(const ShapeSums& sums) {
    requested_q -= sums.requested_q;
    usable_q -= sums.usable_q;
    gross_q -= sums.gross_q;
  }
};

// The peak so far. The sum is compared only before it falls.
struct PeakSearch {
  std::uint64_t gross_q = 0;       // at the peak so far
  std::uint64_t bucket_max_q = 0;  // greatest since the last row of the timeline
  std::uint64_t stamp = 0;         // of the peak
  std::uint64_t last_rise_stamp = 0;
  std::uint32_t births = 0;  // allocations before the peak
  std::uint32_t epoch = 0;   // number of peaks so far: counts of an older epoch aren't of the peak

  void rise(std::uint64_t now_q, std::uint32_t births_now) {
    gross_q = now_q;
    stamp = last_rise_stamp;
    births = births_now;
    ++epoch;
  }
  // Continues from `before`, but counts that were saved since stay of this epoch.
  void continue_from(const PeakSearch& before) {
    const std::uint32_t kept = epoch;
    *this = before;
    epoch = kept;
  }
};

}  // namespace tare::core
