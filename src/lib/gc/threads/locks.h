// The collector's locks that all threads share, kept usable in forked children.
#pragma once

#include "lib/fork/mutex.h"

namespace tare::inline TARE_ABI::gc {

// In the order of locking; the holder of one may wait for a cage's lock, never the other way round.
struct Locks {
  Mutex spaces;       // which groups have a cage
  Mutex cross_roots;  // CrossThreadPersistents of all heaps
  Mutex types;
  Mutex marking;  // the work of the thread of marking_thread.h
};
Locks& locks() noexcept;

}  // namespace tare::inline TARE_ABI::gc
