#include "lib/fork/at_fork.h"

#include <pthread.h>

#include <array>
#include <atomic>

#include "lib/fork/mutex.h"
#include "lib/loader/loaded_object.h"
#include "tare/internal/export.h"

namespace tare::inline TARE_ABI::at_fork {

struct Guards {
  Mutex mutex;  // held through a fork
  std::array<std::atomic<const Steps*>, kParts> steps{};
};
TARE_STATE constinit Guards guards;

// Each copy of the library that shares the guards has handlers: the first of them does the steps, and undoes them.
TARE_STATE constinit thread_local int handlers_begun = 0;

namespace {

void before() TARE_UNCHECKED_LOCKS {
  if (handlers_begun++ != 0) return;
  guards.mutex.lock();
  for (const std::atomic<const Steps*>& part : guards.steps) {
    if (const Steps* steps = part.load(std::memory_order_relaxed); steps != nullptr) steps->before();
  }
}

void after(void (*Steps::*step)()) TARE_UNCHECKED_LOCKS {
  if (--handlers_begun != 0) return;
  for (std::size_t i = kParts; i-- > 0;) {
    if (const Steps* steps = guards.steps[i].load(std::memory_order_relaxed); steps != nullptr) (steps->*step)();
  }
  guards.mutex.unlock();
}

// Runs when the library is loaded, not when the first part is guarded. The thread that installs the handlers holds the
// mutex, and a fork by another thread at that time would leave it locked in the child. If pthread_atfork() has no
// memory (ENOMEM), forks aren't handled.
[[gnu::constructor]] void handle_forks() {
  pthread_atfork(before, [] { after(&Steps::in_parent); }, [] { after(&Steps::in_child); });
}

}  // namespace

void guard(Part part, const Steps& steps) noexcept {
  std::atomic<const Steps*>& place = guards.steps[static_cast<std::size_t>(part)];
  if (place.load(std::memory_order_acquire) != nullptr) return;
  // Forks will call into the plug-in with this copy, as long as the one with the guards is there.
  if (!loaded_object::is_same(&steps, &guards)) loaded_object::keep(&steps);
  const Lock lock(guards.mutex);
  place.store(&steps, std::memory_order_release);
}

}  // namespace tare::inline TARE_ABI::at_fork
