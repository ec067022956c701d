// From an address to the slot of its sample: a hash table of its own memory, never longer than its samples need.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "trace/watch/watch_layout.h"

namespace tare::recorder {

// Open addressing; entries move back when one before them goes, so that there are no marks of removed ones. One caller
// at a time.
class SampleIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  void clear() {
    for (std::uint16_t& entry : entries_) entry = 0;
  }
  std::uint32_t find(const trace::WatchSample* samples, std::uint64_t address) const {
    for (std::uint32_t at = home(address); entries_[at] != 0; at = after(at)) {
      if (samples[entries_[at] - 1].address == address) return entries_[at] - 1u;
    }
    return kNone;
  }
  // There are at most kWatchMaxSamples, half of the entries.
  void insert(std::uint64_t address, std::uint32_t slot) {
    std::uint32_t at = home(address);
    while (entries_[at] != 0) at = after(at);
    entries_[at] = static_cast<std::uint16_t>(slot + 1);
  }
  // `samples[slot]` still has its address, as all others have.
  void remove(const trace::WatchSample* samples, std::uint32_t slot) {
    std::uint32_t hole = home(samples[slot].address);
    while (entries_[hole] != slot + 1) {
      if (entries_[hole] == 0) return;
      hole = after(hole);
    }
    for (std::uint32_t at = after(hole); entries_[at] != 0; at = after(at)) {
      const std::uint32_t wanted = home(samples[entries_[at] - 1].address);
      // May stay if its home lies between the hole and itself.
      if ((at - wanted) % kEntries < (at - hole) % kEntries) continue;
      entries_[hole] = entries_[at];
      hole = at;
    }
    entries_[hole] = 0;
  }

 private:
  static constexpr std::uint32_t kEntries = 2 * trace::kWatchMaxSamples;
  static_assert(trace::kWatchMaxSamples < 0xffff && (kEntries & (kEntries - 1)) == 0);
  static std::uint32_t after(std::uint32_t at) { return (at + 1) % kEntries; }
  static std::uint32_t home(std::uint64_t address) {
    return static_cast<std::uint32_t>((address >> 4) * 0x9e3779b97f4a7c15 >> 40) % kEntries;
  }

  std::uint16_t entries_[kEntries] = {};
};

}  // namespace tare::recorder
