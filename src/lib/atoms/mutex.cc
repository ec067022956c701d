#include "lib/atoms/mutex.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace tare::inline TARE_ABI {

void AtomMutex::lock_slowly() {
  constexpr int kSpins = 40;  // 1 to 2 us: longer than all that isn't a rebuild or a sweep
  for (int i = 0; i < kSpins; ++i) {
#if defined(__x86_64__)
    _mm_pause();
#endif
    std::uint32_t expected = kFree;
    if (state_.load(std::memory_order_relaxed) == kFree &&
        state_.compare_exchange_strong(expected, kLocked, std::memory_order_acquire, std::memory_order_relaxed)) {
      return;
    }
  }
  // A thread that gets the lock from here on leaves it marked, because there may be more waiting threads.
  while (state_.exchange(kWaitedFor, std::memory_order_acquire) != kFree) {
    state_.wait(kWaitedFor, std::memory_order_relaxed);
  }
}

}  // namespace tare::inline TARE_ABI
