#include "tare/gc/store_checks.h"

#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/roots/stack_scan.h"
#include "lib/gc/threads/stop.h"

namespace tare::inline TARE_ABI::gc {

void store_checks_details::check(std::size_t slot, const void* place, const void* object) noexcept {
  Space* space = Space::at(slot);
  const auto heap_at = [&](const void* at) -> HeapImpl* {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    if (space == nullptr || !space->contains(address)) return nullptr;
    return space->page(space->unit_of(address)).heap.load(std::memory_order_relaxed);
  };
  HeapImpl* of_object = heap_at(object);
  if (of_object == nullptr) stop("a Member is given what is no object of its group's heaps");
  if (const HeapImpl* of_place = heap_at(place); of_place != nullptr) {
    if (of_place != of_object) stop("a Member of one heap is given an object of another");
  } else if (!is_on_stack(place) && !of_object->stacks().is_on_registered(place)) {
    stop(
        "a Member lies neither in a heap nor on the stack, where nobody finds it: take a Persistent or a RootedVector");
  } else if (!of_object->is_of_this_thread()) {
    stop("a Member on the stack is given an object of another thread's heap: take a CrossThreadPersistent");
  }
}

}  // namespace tare::inline TARE_ABI::gc
