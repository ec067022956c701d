#include "lib/atoms/readers.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "tare/internal/shared_header.h"

namespace tare::atom_readers {

TARE_STATE constinit thread_local ThreadRecord this_thread;
TARE_STATE std::atomic<bool> needs_barrier{true};

struct Threads {
  std::mutex mutex;  // held by waiting threads: an ending thread then waits too
  ThreadRecord* first = nullptr;
  bool is_prepared = false;
};
TARE_STATE constinit Threads threads;

namespace {

// Takes the thread off the list when it ends.
struct EndOfThread {
  ~EndOfThread() {
    const std::lock_guard<std::mutex> lock(threads.mutex);
    ThreadRecord& record = this_thread;
    (record.previous == nullptr ? threads.first : record.previous->next) = record.next;
    if (record.next != nullptr) record.next->previous = record.previous;
    record.is_registered = false;
    record.has_ended = true;
  }
};

}  // namespace

void prepare() {
  const std::lock_guard<std::mutex> lock(threads.mutex);
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
  const std::lock_guard<std::mutex> lock(threads.mutex);
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
  const std::lock_guard<std::mutex> lock(threads.mutex);
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

void lock_for_fork() { threads.mutex.lock(); }

void unlock_after_fork() { threads.mutex.unlock(); }

void restart_in_child() {
  ThreadRecord& record = this_thread;
  record.previous = nullptr;
  record.next = nullptr;
  threads.first = record.is_registered ? &record : nullptr;
  threads.mutex.unlock();
}

}  // namespace tare::atom_readers
