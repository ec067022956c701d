// Keeps the library's process-wide state usable in children that are forked while other threads are inside it.
//
// A child has the memory of its parent and one of its threads: a lock that another thread held would stay locked, a
// list it was changing half changed. So a fork waits until no thread is inside, as malloc's does, and the child
// continues from there. This doesn't cover vfork() and bare clone(), whose children share the parent's memory until
// they exec.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tare/version.h"

namespace tare::inline TARE_ABI::at_fork {

// In the order of locking: the holder of one may wait for those below, never for those above.
enum class Part : std::uint8_t { Reporters, AtomTables, CollectedHeaps, Cages, RefLedger };
inline constexpr std::size_t kParts = 5;

struct Steps {
  void (*before)();     // by the thread that forks: takes the part's locks
  void (*in_parent)();  // gives them back
  void (*in_child)();   // the same, and drops the threads that don't exist in the child
};

// From now on forks do these. Before the part's first lock is taken, and with none of another part held; from the
// second time on it does nothing, and may be called anywhere.
void guard(Part part, const Steps& steps) noexcept;

}  // namespace tare::inline TARE_ABI::at_fork
