// Calls by number that have a hook's work to do.
#pragma once

namespace tare::recorder {

// prctl or seccomp: may install a filter.
long confining_call(long number, long first, long second, long third, long fourth, long fifth);

}  // namespace tare::recorder
