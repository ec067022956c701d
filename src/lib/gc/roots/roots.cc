#include "lib/gc/roots/root_ring.h"

#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/threads/stop.h"

namespace tare::inline TARE_ABI::gc {

HeapImpl* HeapImpl::of(const void* object) noexcept {
  Space* space = Space::containing(object);
  if (space == nullptr) return nullptr;
  const std::uint32_t unit = space->unit_of(reinterpret_cast<std::uintptr_t>(object));
  return space->page(unit).heap.load(std::memory_order_relaxed);
}

void RootLink::link(const void* object, RootKind kind) noexcept {
  unlink();
  HeapImpl* heap = HeapImpl::of(object);
  if (heap == nullptr) stop("a Persistent to what is no collected object");
  if (heap->options().verifies && !heap->is_of_this_thread()) {
    stop("a Persistent on another thread than its heap's: take a CrossThreadPersistent");
  }
  object_ = object;
  heap->roots(kind).add(*this);
  // Existing roots are marked, and new ones report themselves; so no root must be read in the end.
  if (heap->is_marking()) heap->mark_linked(reinterpret_cast<std::uintptr_t>(object));
}

}  // namespace tare::inline TARE_ABI::gc
