// Which clock stamps events.
#include "recorder/base/stamp.h"

namespace tare::recorder {

bool stamps_are_clock = false;

void choose_clock() { stamps_are_clock = !arch::has_even_ticks(); }

std::uint64_t clock_stamp() { return monotonic_ns(); }

}  // namespace tare::recorder
