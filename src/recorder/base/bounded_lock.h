// A lock whose holder may be dead (a vfork child that was killed): a waiting thread stops waiting once the lock wasn't
// taken or released for 10 s, and as long as this lasts, each later one after 100 ms. Hold it with signals blocked, so
// that the holder always moves on.
#pragma once

#include <atomic>
#include <cstdint>

#include <errno.h>

#include "recorder/base/syscall.h"

namespace tare::recorder {

class BoundedLock {
 public:
  bool lock() {
    std::uint32_t seen = kFree;
    if (!state_.compare_exchange_strong(seen, kHeld, std::memory_order_acquire) && !wait_for_it()) return false;
    turns_.fetch_add(1, std::memory_order_relaxed);
    is_stuck_.store(false, std::memory_order_relaxed);
    return true;
  }
  void unlock() {
    constexpr int kWakePrivate = 129;
    if (state_.exchange(kFree, std::memory_order_release) == kWaitedFor) {
      sys::call(SYS_futex, sys::word(&state_), kWakePrivate, 1);
    }
  }
  void reset() {  // in a forked child: the holder is gone
    state_.store(kFree, std::memory_order_relaxed);
    is_stuck_.store(false, std::memory_order_relaxed);
  }

 private:
  enum : std::uint32_t { kFree, kHeld, kWaitedFor };

  // In the kernel: 8,000 threads that polled for it kept its holder from two processors for seconds.
  bool wait_for_it() {
    constexpr int kWaitPrivate = 128;
    const sys::Timespec longest{0, 100'000'000};
    // A holder that gets no processor is not dead. Beside six busy processes on two processors it stood still for more
    // than 100 ms at nice 10 (some 500 of 3,000 new threads lost their first event), and for more than 2 s at nice 19.
    constexpr int kMostWaits = 100;
    int waits = is_stuck_.load(std::memory_order_relaxed) ? kMostWaits - 1 : 0;
    std::uint32_t polls = 0;
    std::uint32_t turns = turns_.load(std::memory_order_relaxed);
    while (state_.exchange(kWaitedFor, std::memory_order_acquire) != kFree) {
      const long result = sys::call(SYS_futex, sys::word(&state_), kWaitPrivate, kWaitedFor, sys::word(&longest));
      if (result == -EPERM) {  // forbidden by the program's own sandbox: poll, some 100 ms
        arch::pause();
        if (++polls > 2'000'000) return false;
      }
      if (result != -ETIMEDOUT) continue;
      const std::uint32_t now = turns_.load(std::memory_order_relaxed);
      if (now != turns) {
        waits = 0;
      } else if (++waits >= kMostWaits) {
        is_stuck_.store(true, std::memory_order_relaxed);
        return false;
      }
      turns = now;
    }
    return true;
  }

  std::atomic<std::uint32_t> state_{kFree};
  std::atomic<std::uint32_t> turns_{0};
  std::atomic<bool> is_stuck_{false};  // a wait was given up, and no thread has taken the lock since
};

}  // namespace tare::recorder
