#include "lib/gc/locks.h"

#include "lib/cage/cage_locks.h"
#include "lib/fork/at_fork.h"
#include "lib/gc/marking_thread.h"

namespace tare::gc {

namespace {

constinit Locks all;

void unlock() {
  all.marking.unlock();
  all.types.unlock();
  all.cross_roots.unlock();
  all.spaces.unlock();
}

constexpr at_fork::Steps kForkSteps{.before =
                                        [] {
                                          all.spaces.lock();
                                          all.cross_roots.lock();
                                          all.types.lock();
                                          all.marking.lock();
                                          marking_thread::rest_for_fork();
                                        },
                                    .in_parent =
                                        [] {
                                          marking_thread::go_on_in_parent();
                                          unlock();
                                        },
                                    .in_child =
                                        [] {
                                          marking_thread::go_on_in_child();
                                          unlock();
                                        }};

}  // namespace

Locks& locks() noexcept {
  // A cage is reserved with `spaces` held, when it's too late for what a fork takes first: who forks holds that and
  // waits for `spaces`.
  cage_locks::guard();
  at_fork::guard(at_fork::Part::CollectedHeaps, kForkSteps);
  return all;
}

}  // namespace tare::gc
