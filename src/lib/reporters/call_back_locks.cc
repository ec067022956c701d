#include "lib/reporters/call_back_locks.h"

#include <new>

#include "lib/fork/at_fork.h"
#include "tare/internal/export.h"

namespace tare::inline TARE_ABI {

TARE_STATE constinit Living<CallBackLocks> all_call_back_locks;

namespace {

void lock_call_backs(CallBackLocks& locks) TARE_UNCHECKED_LOCKS { locks.mutex.lock(); }
void unlock_call_backs(CallBackLocks& locks) TARE_UNCHECKED_LOCKS { locks.mutex.unlock(); }

void restart_call_backs(CallBackLocks& locks) TARE_UNCHECKED_LOCKS {
  locks.restart_in_child();
  locks.mutex.unlock();
}

constexpr at_fork::Steps kReporterForkSteps{
    .before = [] { all_call_back_locks.lock_for_fork(lock_call_backs); },
    .in_parent = [] { all_call_back_locks.unlock_after_fork(unlock_call_backs); },
    .in_child = [] { all_call_back_locks.unlock_after_fork(restart_call_backs); }};

}  // namespace

CallBackLocks::CallBackLocks() {
  at_fork::guard(at_fork::Part::Reporters, kReporterForkSteps);
  all_call_back_locks.add(*this);
}

CallBackLocks::~CallBackLocks() { all_call_back_locks.remove(*this); }

void CallBackLocks::wait_for_end(std::uint64_t id) {
  std::unique_lock held(mutex.native(), std::adopt_lock);
  while (running_id == id) call_ended.wait(held);
  static_cast<void>(held.release());  // the caller's
}

void CallBackLocks::restart_in_child() {
  // Made anew, not destroyed: that would wait for the threads that were waiting.
  new (&call_ended) std::condition_variable;
  if (running_id != kNone && running_thread == std::this_thread::get_id()) return;  // a call-back forks
  running_id = kNone;
  new (&pass) Mutex;
}

}  // namespace tare::inline TARE_ABI
