#include "lib/gc/locks.h"

#include "lib/cage/cage_locks.h"
#include "lib/fork/at_fork.h"

namespace tare::gc {

namespace {

constinit Locks all;

void unlock() {
  all.types.unlock();
  all.cross_roots.unlock();
  all.spaces.unlock();
}

constexpr at_fork::Steps kForkSteps{.before =
                                        [] {
                                          all.spaces.lock();
                                          all.cross_roots.lock();
                                          all.types.lock();
                                        },
                                    .in_parent = unlock,
                                    .in_child = unlock};

}  // namespace

Locks& locks() noexcept {
  // A cage is reserved with `spaces` held, when it's too late for what a fork takes first: who forks holds that and
  // waits for `spaces`.
  cage_locks::guard();
  at_fork::guard(at_fork::Part::CollectedHeaps, kForkSteps);
  return all;
}

}  // namespace tare::gc
