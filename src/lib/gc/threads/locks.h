// The collector's locks that all threads share, kept usable in forked children.
#pragma once

#include <mutex>

namespace tare::gc {

// In the order in which they're taken; whoever holds one may wait for a cage's, never the other way round.
struct Locks {
  std::mutex spaces;       // which groups have a cage
  std::mutex cross_roots;  // CrossThreadPersistents of all heaps
  std::mutex types;
  std::mutex marking;  // what the thread of marking_thread.h works on
};
Locks& locks() noexcept;

}  // namespace tare::gc
