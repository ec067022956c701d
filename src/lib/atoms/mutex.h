// A lock of 4 bytes, free of cost while the process has one thread.
//
// pthread's takes 40, which at 16 shards a table is nearly one byte more an atom in a table of 1,000. A critical
// section is a search (30 ns) as a rule, and a sweep at worst. A waiting thread spins briefly and then sleeps in the
// kernel.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/fork/mutex.h"
#include "tare/internal/shared_header.h"

namespace tare::inline TARE_ABI {

class TARE_ANNOTATED(capability("mutex")) AtomMutex {
 public:
  void lock() TARE_ACQUIRES() TARE_UNCHECKED_LOCKS {
    if (shared_details::is_single_threaded()) {
      state_.store(kLocked, std::memory_order_relaxed);
      return;
    }
    std::uint32_t expected = kFree;
    if (!state_.compare_exchange_strong(expected, kLocked, std::memory_order_acquire, std::memory_order_relaxed)) {
      lock_slowly();
    }
  }

  bool try_lock() TARE_TRIES(true) TARE_UNCHECKED_LOCKS {
    std::uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kLocked, std::memory_order_acquire, std::memory_order_relaxed);
  }

  void unlock() TARE_RELEASES() TARE_UNCHECKED_LOCKS {
    if (shared_details::is_single_threaded()) {
      state_.store(kFree, std::memory_order_relaxed);
    } else if (state_.exchange(kFree, std::memory_order_release) == kWaitedFor) {
      state_.notify_one();
    }
  }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kLocked = 1;
  static constexpr std::uint32_t kWaitedFor = 2;

  void lock_slowly();

  std::atomic<std::uint32_t> state_{kFree};
};

}  // namespace tare::inline TARE_ABI
