// Sums of blocks and bytes at the peak, at the end and over all, exact unless sampled.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/columns/tables.h"

namespace tare::core {

inline std::int64_t rounded(double value) {
  constexpr double kMost = 9.2e18;
  return value < kMost ? std::llround(value) : std::numeric_limits<std::int64_t>::max();
}

// Blocks, requested, usable and gross bytes of one mode (peak, end, total), exact unless sampled.
class ModeSums {
 public:
  void add(std::uint64_t blocks, std::uint64_t requested_bytes, std::uint64_t usable_bytes, std::uint64_t header,
           double weight) {
    if (blocks == 0) return;
    if (weight == 1.0) {
      const unsigned __int128 count = blocks;
      blocks_ += count;
      requested_ += count * requested_bytes;
      usable_ += count * usable_bytes;
      gross_ += count * (usable_bytes + header);
    } else {
      const double count = weight * static_cast<double>(blocks);
      const auto usable = static_cast<double>(usable_bytes);
      weighted_blocks_ += count;
      weighted_requested_ += count * static_cast<double>(requested_bytes);
      weighted_usable_ += count * usable;
      weighted_gross_ += count * (usable + static_cast<double>(header));
    }
  }
  std::int64_t blocks() const { return sum(blocks_, weighted_blocks_); }
  std::int64_t requested_bytes() const { return sum(requested_, weighted_requested_); }
  std::int64_t usable_bytes() const { return sum(usable_, weighted_usable_); }
  std::int64_t gross_bytes() const { return sum(gross_, weighted_gross_); }

 private:
  static std::int64_t sum(unsigned __int128 exact, double weighted) {
    return weighted == 0 ? to_column(exact) : rounded(static_cast<double>(exact) + weighted);
  }
  unsigned __int128 blocks_ = 0, requested_ = 0, usable_ = 0, gross_ = 0;
  double weighted_blocks_ = 0, weighted_requested_ = 0, weighted_usable_ = 0, weighted_gross_ = 0;
};

struct Totals {
  ModeSums peak, end, total, at, inherited;
  bool has_at = false;
};

}  // namespace tare::core
