// The lock for adding rows and modules, held for some 100 ns. Waits are bounded: a thread that was forked away or
// killed with the lock held must cost a frame its name at most, never hang the program. Block signals before taking it.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/syscall.h"

namespace tare::recorder {

class SpinLock {
 public:
  bool try_lock() {
    for (int turn = 0; turn < 2000; ++turn) {
      std::uint32_t free = 0;
      if (taken_.compare_exchange_weak(free, 1, std::memory_order_acquire, std::memory_order_relaxed)) return true;
      if (turn > 50) {
        sys::call(SYS_sched_yield);
      } else {
        __builtin_ia32_pause();
      }
    }
    return false;
  }
  void unlock() { taken_.store(0, std::memory_order_release); }
  void reset() { taken_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> taken_{0};
};

}  // namespace tare::recorder
