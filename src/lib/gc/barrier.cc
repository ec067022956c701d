// The barrier's far side: what a store tells the heap that is being marked.
#include "tare/gc/barrier.h"

#include "lib/gc/heap_impl.h"

namespace tare::gc {

constinit std::atomic<std::uint32_t> marking_heaps[kCageSlots]{};

namespace {

// The heap of an object that this thread may tell of; null for other threads'.
HeapImpl* marking_heap_of(std::size_t slot, const void* object) noexcept {
  Space* space = Space::at(slot);
  const auto address = reinterpret_cast<std::uintptr_t>(object);
  if (space == nullptr || !space->contains(address)) return nullptr;
  HeapImpl* heap = space->page(space->unit_of(address)).heap.load(std::memory_order_relaxed);
  return heap != nullptr && heap->is_of_this_thread() && heap->is_marking() ? heap : nullptr;
}

}  // namespace

void barrier_details::mark(std::size_t slot, const void* target) noexcept {
  if (HeapImpl* heap = marking_heap_of(slot, target)) heap->mark_stored(reinterpret_cast<std::uintptr_t>(target));
}

void barrier_details::trace_again(std::size_t slot, const void* object) noexcept {
  if (HeapImpl* heap = marking_heap_of(slot, object)) heap->trace_again(reinterpret_cast<std::uintptr_t>(object));
}

}  // namespace tare::gc
