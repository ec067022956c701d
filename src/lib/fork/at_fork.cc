#include "lib/fork/at_fork.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <mutex>

namespace tare::at_fork {

namespace {

struct Guards {
  std::mutex mutex;  // held through a fork
  std::array<std::atomic<const Steps*>, kParts> steps{};
};
constinit Guards guards;

void before() {
  guards.mutex.lock();
  for (const std::atomic<const Steps*>& part : guards.steps) {
    if (const Steps* steps = part.load(std::memory_order_relaxed); steps != nullptr) steps->before();
  }
}

void after(void (*Steps::*step)()) {
  for (std::size_t i = kParts; i-- > 0;) {
    if (const Steps* steps = guards.steps[i].load(std::memory_order_relaxed); steps != nullptr) (steps->*step)();
  }
  guards.mutex.unlock();
}

// When the library is loaded, not when the first part is guarded: a thread that is about to do that holds the mutex,
// and who forks then without the handlers leaves it locked in the child. Without memory for it (ENOMEM) forks are as
// they were.
[[gnu::constructor]] void handle_forks() {
  pthread_atfork(before, [] { after(&Steps::in_parent); }, [] { after(&Steps::in_child); });
}

}  // namespace

void guard(Part part, const Steps& steps) noexcept {
  std::atomic<const Steps*>& place = guards.steps[static_cast<std::size_t>(part)];
  if (place.load(std::memory_order_acquire) != nullptr) return;
  const std::lock_guard<std::mutex> lock(guards.mutex);
  place.store(&steps, std::memory_order_release);
}

}  // namespace tare::at_fork
