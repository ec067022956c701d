// Which clock stamps events.
#include "recorder/base/stamp.h"

#include <cpuid.h>

namespace tare::recorder {

bool stamps_are_clock = false;

void choose_clock() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool known = __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0;
  stamps_are_clock = !known || (edx & (1u << 8)) == 0;  // invariant TSC: same rate on all cores in all sleep states
}

std::uint64_t clock_stamp() { return monotonic_ns(); }

}  // namespace tare::recorder
