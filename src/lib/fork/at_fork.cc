#include "lib/fork/at_fork.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <mutex>

namespace tare::at_fork {

namespace {

struct Guards {
  std::mutex mutex;  // held through a fork
  bool is_registered = false;
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

}  // namespace

void guard(Part part, const Steps& steps) noexcept {
  std::atomic<const Steps*>& place = guards.steps[static_cast<std::size_t>(part)];
  if (place.load(std::memory_order_acquire) != nullptr) return;
  const std::lock_guard<std::mutex> lock(guards.mutex);
  if (!guards.is_registered) {
    // Without memory for it (ENOMEM) forks are as they were.
    guards.is_registered =
        pthread_atfork(before, [] { after(&Steps::in_parent); }, [] { after(&Steps::in_child); }) == 0;
  }
  place.store(&steps, std::memory_order_release);
}

}  // namespace tare::at_fork
