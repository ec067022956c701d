// Time as the recorder writes it: TSC ticks, or CLOCK_MONOTONIC nanoseconds where the TSC isn't invariant.
#pragma once

#include <cstdint>

#include <time.h>
#include <x86intrin.h>

#include "recorder/base/attributes.h"

namespace tare::recorder {

inline std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}
inline std::uint64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }

extern TARE_HIDDEN bool stamps_are_clock;  // set once by choose_clock()
void choose_clock();
TARE_COLD std::uint64_t clock_stamp();  // monotonic_ns() with an aligned frame of its own

// rdtsc costs 8.7 ns of the 15 an event may cost, so it's read once an event at most.
TARE_INLINE std::uint64_t stamp() {
  if (TARE_UNLIKELY(stamps_are_clock)) return clock_stamp();
  return __rdtsc();
}

// With other threads about: not executed before the loads in front of it. A plain rdtsc may run some 100 ns early,
// while the load that hands over the block (or the allocator's lock) still waits for another core's cache line; 7 ns
// dearer.
TARE_INLINE std::uint64_t stamp_after_loads() {
  if (TARE_UNLIKELY(stamps_are_clock)) return clock_stamp();
  unsigned processor;
  return __rdtscp(&processor);
}

// Single-threaded events are stamped when this much has passed since the last stamp: 0.2 to 0.5 ms on TSCs of 2 to 5
// GHz.
inline constexpr std::uint64_t kStampGap = 1'000'000;

}  // namespace tare::recorder
