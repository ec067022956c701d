#include "lib/atoms/readers.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "lib/fork/mutex.h"
#include "tare/internal/shared_header.h"

namespace tare::inline TARE_ABI::atom_readers {

TARE_STATE constinit thread_local ThreadRecord this_thread;
TARE_STATE std::atomic<bool> needs_barrier{true};

struct Threads {
  Mutex mutex;  // held by waiting threads: an ending thread then waits too
  ThreadRecord* first TARE_GUARDED_BY(mutex) = nullptr;
  bool is_prepared TARE_GUARDED_BY(mutex) = false;
};
TARE_STATE constinit Threads threads;

namespace {

// Takes the thread off the list when it ends.
struct EndOfThread {
  ~EndOfThread() {
    const Lock lock(threads.mutex);
    ThreadRecord& record = this_thread;
    (record.previous == nullptr ? threads.first : record.previous->next) = record.next;
    if (record.next != nullptr) record.next->previous = record.previous;
    record.is_registered = false;
    record.has_ended = true;
  }
};

}  // namespace

void prepare() {
  const Lock lock(threads.mutex);
  if (threads.is_prepared) return;
  threads.is_prepared = true;
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0) {
    needs_barrier.store(false, std::memory_order_relaxed);
  }
}

namespace {

// Registered once more if need be: a forked child has a memory of its own.
bool make_barrier_everywhere() {
  const auto make = [](int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; };
  return make(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
         (make(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && make(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}

}  // namespace

bool register_this_thread() {
  if (this_thread.has_ended) return false;
  thread_local EndOfThread end_of_thread;
  static_cast<void>(end_of_thread);  // its construction registers the destructor
  const Lock lock(threads.mutex);
  ThreadRecord& record = this_thread;
  record.next = threads.first;
  record.previous = nullptr;
  if (threads.first != nullptr) threads.first->previous = &record;
  threads.first = &record;
  record.is_registered = true;
  return true;
}

void wait_for_readers() {
  if (shared_details::is_single_threaded()) return;
  const Lock lock(threads.mutex);
  if (!needs_barrier.load(std::memory_order_relaxed) && !make_barrier_everywhere()) {
    std::fputs("tare: membarrier(2) was allowed when the first AtomTable was made and now isn't\n", stderr);
    std::abort();  // searches under way can't be detected, and continuing would free memory that they read
  }
  for (ThreadRecord* record = threads.first; record != nullptr; record = record->next) {
    // An exchange too, which orders this against a search that begins with one: one of the two comes first.
    const std::uint64_t count = record->count.fetch_add(0, std::memory_order_acq_rel);
    if (count % 2 == 0) continue;
    while (record->count.load(std::memory_order_acquire) == count) sched_yield();
  }
}

void lock_for_fork() TARE_UNCHECKED_LOCKS { threads.mutex.lock(); }

void unlock_after_fork() TARE_UNCHECKED_LOCKS { threads.mutex.unlock(); }

void restart_in_child() TARE_UNCHECKED_LOCKS {
  ThreadRecord& record = this_thread;
  record.previous = nullptr;
  record.next = nullptr;
  threads.first = record.is_registered ? &record : nullptr;
  threads.mutex.unlock();
}

}  // namespace tare::inline TARE_ABI::atom_readers
