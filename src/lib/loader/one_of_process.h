// An object that exists once in a process: made at its first use and never destroyed, because its users may be
// destroyed later than any static object.
#pragma once

#include <atomic>

#include "tare/version.h"

namespace tare::inline TARE_ABI {

// `place` is a variable that copies of the library share: TARE_STATE.
template <class Object>
Object& one_of_process(std::atomic<Object*>& place) {
  Object* known = place.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  auto* made = new Object;
  if (place.compare_exchange_strong(known, made, std::memory_order_acq_rel, std::memory_order_acquire)) return *made;
  delete made;  // another thread was first
  return *known;
}

}  // namespace tare::inline TARE_ABI
