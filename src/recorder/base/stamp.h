// Time as the recorder writes it: ticks of the processor (x86-64: the TSC), or CLOCK_MONOTONIC nanoseconds where their
// rate varies.
#pragma once

#include <cstdint>

#include <time.h>

#include "recorder/arch/arch.h"
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
  return arch::ticks();
}

// CPU time, which only the kernel knows. 0: the program's sandbox forbids the call.
TARE_COLD std::uint64_t thread_cpu_ns();
TARE_COLD std::uint64_t process_cpu_ns();

// With other threads about: not executed before the loads in front of it. A plain rdtsc may run some 100 ns early,
// while the load that hands over the block (or the allocator's lock) still waits for another core's cache line; 7 ns
// dearer.
TARE_INLINE std::uint64_t stamp_after_loads() {
  if (TARE_UNLIKELY(stamps_are_clock)) return clock_stamp();
  return arch::ticks_after_loads();
}

using arch::kStampGap;

}  // namespace tare::recorder
