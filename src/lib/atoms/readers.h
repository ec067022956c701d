// Searches without a lock, and the wait until none of them can still reach removed memory.
//
// A search marks its thread as reading, by two plain stores to memory of its own. After unlinking memory, a writer
// calls wait_for_readers() before it reuses it. That makes every running thread pass a memory barrier (membarrier(2), a
// few us) and then waits for the threads that were reading. So the frequent side has neither lock nor barrier: 1 ns
// where a lock takes 5. Where the kernel has no membarrier, searches exchange the mark instead (5 ns).
#pragma once

#include <atomic>
#include <cstdint>

#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::atom_readers {

// Once before the first search; any number of times.
void prepare();

// Returns when all searches that were under way have ended. Not from within one.
void wait_for_readers();

// Around a fork. A child has this thread only: the others' records lie in memory that is used otherwise there.
void lock_for_fork();
void unlock_after_fork();
void restart_in_child();

struct ThreadRecord {
  std::atomic<std::uint64_t> count{0};  // odd while the thread searches
  bool is_registered = false;
  bool has_ended = false;
  // Atoms that became unused by this thread and weren't reported to a table yet, and the number at which they are
  // reported.
  std::uint32_t unused_count = 0;
  std::uint32_t unused_limit = 0;
  std::uint32_t unused_random = 1;
  ThreadRecord* next = nullptr;
  ThreadRecord* previous = nullptr;
};

extern TARE_STATE constinit thread_local ThreadRecord this_thread;
extern TARE_STATE std::atomic<bool> needs_barrier;

bool register_this_thread();

// Marks this thread as searching, until end(). Null if it may not: in destructors of thread-local objects that run
// after this thread was taken off the books.
inline ThreadRecord* begin() {
  ThreadRecord* record = &this_thread;
  if (!record->is_registered && !register_this_thread()) [[unlikely]]
    return nullptr;
  const std::uint64_t odd = record->count.load(std::memory_order_relaxed) + 1;
  if (needs_barrier.load(std::memory_order_relaxed)) [[unlikely]] {
    record->count.exchange(odd, std::memory_order_acq_rel);
  } else {
    record->count.store(odd, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  return record;
}

inline void end(ThreadRecord* record) {
  record->count.store(record->count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace tare::inline TARE_ABI::atom_readers
