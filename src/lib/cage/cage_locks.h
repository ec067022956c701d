// For code that reserves a cage while it holds a lock that forks take.
#pragma once

#include "tare/version.h"

namespace tare::inline TARE_ABI::cage_locks {

// From now on forks take the locks of all cages (lib/fork/at_fork.h). Every Cage::reserve() does this, too late for a
// caller with such a lock. Not with one.
void guard() noexcept;

}  // namespace tare::inline TARE_ABI::cage_locks
