// The lock for adding rows and modules, held for some 100 ns. Waits are bounded: a thread that was forked away or
// killed with the lock held must cost a frame its name at most, never hang the program. Block signals before taking it.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/base/syscall.h"

namespace tare::recorder {

class SpinLock {
 public:
  bool try_lock() {
    // Once a thread has waited in vain, no thread waits again until the lock is found free.
    const int last = given_up_.load(std::memory_order_relaxed) != 0 ? 0 : kSpins + kNaps;
    for (int turn = 0; turn <= last; ++turn) {
      std::uint32_t free = 0;
      if (taken_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed)) {
        if (last == 0) given_up_.store(0, std::memory_order_relaxed);
        return true;
      }
      if (turn < kSpins) {
        arch::pause();
      } else {
        sys::sleep_ns(50'000);
      }
    }
    given_up_.store(1, std::memory_order_relaxed);
    return false;
  }
  void unlock() { taken_.store(0, std::memory_order_release); }
  void reset() {
    taken_.store(0, std::memory_order_relaxed);
    given_up_.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr int kSpins = 100;
  static constexpr int kNaps =
      1000;  // 100 ms and more: a holder that lost its CPU on a loaded machine comes back within it

  std::atomic<std::uint32_t> taken_{0};
  std::atomic<std::uint32_t> given_up_{0};
};

}  // namespace tare::recorder
