#include "lib/atoms/readers.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>

#include "tare/shared_header.h"

namespace tare::atom_readers {

constinit thread_local ThreadRecord this_thread;
std::atomic<bool> needs_fence{true};

namespace {

struct Threads {
  std::mutex mutex;  // held while somebody waits: a thread that ends then waits too
  ThreadRecord* first = nullptr;
  bool is_prepared = false;
};
constinit Threads threads;

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
    needs_fence.store(false, std::memory_order_relaxed);
  }
}

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
  if (needs_fence.load(std::memory_order_relaxed)) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  } else {
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  }
  for (const ThreadRecord* record = threads.first; record != nullptr; record = record->next) {
    const std::uint64_t count = record->count.load(std::memory_order_acquire);
    if (count % 2 == 0) continue;
    while (record->count.load(std::memory_order_acquire) == count) sched_yield();
  }
}

}  // namespace tare::atom_readers
