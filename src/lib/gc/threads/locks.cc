#include "lib/gc/threads/locks.h"

#include "lib/cage/cage_locks.h"
#include "lib/fork/at_fork.h"
#include "lib/gc/marking/marking_thread.h"
#include "lib/gc/threads/inline_state.h"

namespace tare::inline TARE_ABI::gc {

TARE_STATE constinit Locks all_locks;

namespace {

void lock() TARE_UNCHECKED_LOCKS {
  all_locks.spaces.lock();
  all_locks.cross_roots.lock();
  all_locks.types.lock();
  all_locks.marking.lock();
  inline_state.lock_for_fork();
  marking_thread::rest_for_fork();
}

void unlock() TARE_UNCHECKED_LOCKS {
  inline_state.unlock_after_fork();
  all_locks.marking.unlock();
  all_locks.types.unlock();
  all_locks.cross_roots.unlock();
  all_locks.spaces.unlock();
}

void unlock_in_parent() TARE_UNCHECKED_LOCKS {
  marking_thread::go_on_in_parent();
  unlock();
}

void unlock_in_child() TARE_UNCHECKED_LOCKS {
  marking_thread::go_on_in_child();
  unlock();
}

constexpr at_fork::Steps kHeapForkSteps{.before = lock, .in_parent = unlock_in_parent, .in_child = unlock_in_child};

}  // namespace

Locks& locks() noexcept {
  // A cage is reserved while `spaces` is held, too late to take the locks of a fork: a forking thread holds those and
  // waits for `spaces`.
  cage_locks::guard();
  at_fork::guard(at_fork::Part::CollectedHeaps, kHeapForkSteps);
  return all_locks;
}

}  // namespace tare::inline TARE_ABI::gc
