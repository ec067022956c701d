// Which clock stamps events.
#include "recorder/base/stamp.h"

namespace tare::recorder {

bool stamps_are_clock = false;

void choose_clock() { stamps_are_clock = !arch::has_even_ticks(); }

std::uint64_t clock_stamp() { return monotonic_ns(); }
std::uint64_t thread_cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace tare::recorder
