#include "lib/gc/roots.h"

#include "lib/gc/heap_impl.h"
#include "lib/gc/space.h"
#include "lib/gc/stop.h"

namespace tare::gc {

void RootLink::link(const void* object, RootKind kind) noexcept {
  unlink();
  Space* space = Space::containing(object);
  HeapImpl* heap =
      space == nullptr
          ? nullptr
          : space->page(space->unit_of(reinterpret_cast<std::uintptr_t>(object))).heap.load(std::memory_order_relaxed);
  if (heap == nullptr) stop("a Persistent to what is no collected object");
  object_ = object;
  heap->roots(kind).add(*this);
}

}  // namespace tare::gc
