// A lock that is never waited for longer than 100 ms: its holder may be a vfork child that was killed. Hold it with
// signals blocked, so that the holder always moves on.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/syscall.h"

namespace tare::recorder {

class BoundedLock {
 public:
  bool lock() {
    for (int attempt = 0; attempt < 2000; ++attempt) {
      std::uint32_t seen = 0;
      if (held_.compare_exchange_strong(seen, 1, std::memory_order_acquire)) return true;
      sys::sleep_ns(50'000);
    }
    return false;
  }
  void unlock() { held_.store(0, std::memory_order_release); }
  void reset() { held_.store(0, std::memory_order_relaxed); }  // in a forked child: the holder is gone

 private:
  std::atomic<std::uint32_t> held_{0};
};

}  // namespace tare::recorder
