#include "tare/gc/explicit.h"

#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/heap/types.h"
#include "lib/gc/threads/stop.h"
#include "tare/internal/poison.h"

namespace tare::inline TARE_ABI::gc {

void explicit_details::free_object(HeapCore& core, void* object) noexcept {
  static_cast<HeapImpl&>(core).free_object(reinterpret_cast<std::uintptr_t>(object));
}

std::size_t explicit_details::room_behind(HeapCore& core, const void* object, std::size_t object_bytes) noexcept {
  return static_cast<HeapImpl&>(core).room_of(reinterpret_cast<std::uintptr_t>(object)) - object_bytes;
}

// The newest object of its size returns to the stretch it was cut from; others' cells wait for the next search for a
// stretch.
void HeapImpl::free_object(std::uintptr_t object) noexcept {
  if (is_busy_ || is_marking()) return;
  if (object_at(object) != object) stop("free_unreferenced() of what is no object of this heap");
  Page* page = &space_.page_around(object);
  if (is_generational_) forget_freed(*page, object);
  CellHeader& header = header_of(reinterpret_cast<void*>(object));
  const TypeInfo& type = types_by_index[header.type()];
  if (type.finalize != nullptr) {
    is_busy_ = true;
    type.finalize(reinterpret_cast<void*>(object));
    is_busy_ = false;
  }
  if (type.has_prefinalizer) forget_prefinalizer(object);
  pool_.died(reinterpret_cast<const void*>(object));
  header.bits = 0;
  if (page->kind == Page::Kind::Large) {
    std::uint32_t* link = &large_.first;
    while (*link != space_.unit_of(*page)) link = &space_.page(*link).next;
    *link = page->next;
    drop_page(space_.unit_of(*page));
    return;
  }
  poison(reinterpret_cast<void*>(object), page->cell_bytes - sizeof(CellHeader));
  const std::size_t kind = list_of(*page);
  Stretch& stretch = stretches_[kind][page->size_class];
  if (stretch.next != stretch.end && stretch.next == object + page->cell_bytes) {
    stretch.next = object;
    return;
  }
  FreeCells& free = free_cells_[kind][page->size_class];
  unpoison(reinterpret_cast<void*>(object), sizeof(std::uint32_t));
  *reinterpret_cast<std::uint32_t*>(object) = free.first;
  free.first = space_.granule_of(object);
}

std::size_t HeapImpl::room_of(std::uintptr_t object) noexcept {
  if (object_at(object) != object) stop("room_behind() of what is no object of this heap");
  const Page& page = space_.page_around(object);
  return page.kind == Page::Kind::Large ? page.run_bytes - cell::kFirstObject : page.cell_bytes - sizeof(CellHeader);
}

void HeapImpl::forget_prefinalizer(std::uintptr_t object) noexcept {
  Prefinalizer* kept = prefinalizers_.begin();
  for (const Prefinalizer& prefinalizer : prefinalizers_) {
    if (reinterpret_cast<std::uintptr_t>(prefinalizer.object) != object) *kept++ = prefinalizer;
  }
  prefinalizers_.set_size(static_cast<std::size_t>(kept - prefinalizers_.begin()));
}

}  // namespace tare::inline TARE_ABI::gc
