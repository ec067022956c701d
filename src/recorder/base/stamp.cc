// Which clock stamps events.
#include "recorder/base/stamp.h"

#include "recorder/base/syscall.h"

namespace tare::recorder {

namespace {

std::uint64_t cpu_clock_ns(clockid_t clock) {
  timespec now{};
  if (sys::failed(sys::call(SYS_clock_gettime, clock, sys::word(&now)))) return 0;
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

bool stamps_are_clock = false;

void choose_clock() { stamps_are_clock = !arch::has_even_ticks(); }

std::uint64_t clock_stamp() { return monotonic_ns(); }
std::uint64_t thread_cpu_ns() { return cpu_clock_ns(CLOCK_THREAD_CPUTIME_ID); }
std::uint64_t process_cpu_ns() { return cpu_clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace tare::recorder
