// Arrays of containers moved together, out of pages that have few of them.
//
// Only its container has the address of an array: in one Member, which the owner of the container passes to
// Visitor::trace_array(). Any other reference to an array pins it: words of the stack, roots, objects in construction,
// Members that are traced as such, a second container's Member. Only pages of which all arrays may leave are emptied;
// the rest take them up.
//
// Containers may lie in arrays that move as well. An array's new address is written into its old cell, so that the
// order of moves doesn't matter: an update of a Member first checks if the Member itself has moved.
#include <algorithm>
#include <utility>

#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/heap/types.h"
#include "lib/gc/marking/marker.h"
#include "lib/gc/roots/stack_scan.h"
#include "lib/gc/threads/locks.h"
#include "lib/gc/threads/stop.h"
#include "tare/internal/poison.h"

namespace tare::inline TARE_ABI::gc {

// After a collection and its sweep all existing objects are alive and unmarked. Marks mean here that an object must
// stay.
class Compactor {
 public:
  explicit Compactor(HeapImpl& heap) noexcept : heap_(heap), space_(heap.space()) {}
  void run(StackState stack) noexcept {
    Marker marker(heap_, heap_.mark_stack_, Marker::Sharing::None);
    pin(marker, stack);
    marker.forget_waiting();
    find_slots(marker);
    for (HeapImpl::PageList& pages : heap_.lists_[static_cast<std::size_t>(Finalization::Movable)]) compact(pages);
    // Before pages are dropped: the value of an ephemeron without a key may be dead, and have marked a free cell there.
    heap_.for_each_page([&](const Page& page) {
      std::fill_n(space_.marks() + space_.unit_of(page) * Space::kWordsOfUnit, HeapImpl::words_of(page), 0);
    });
    drop_emptied();
  }

 private:
  // A container's Member, and the array that it points to.
  struct ArraySlot {
    std::uint32_t array;  // granule
    std::uint32_t* slot;
    bool operator==(const ArraySlot&) const noexcept = default;
  };

  void pin(Marker& marker, StackState stack) noexcept;
  void find_slots(Marker& marker) noexcept;
  void compact(HeapImpl::PageList& pages) noexcept;
  void drop_emptied() noexcept;
  bool may_all_leave(const Page& page) noexcept;
  void move_all(Page& page, std::uint32_t*& into, std::uint32_t& cell) noexcept;
  void move(std::uintptr_t array, Page& from, std::uintptr_t cell, Page& to) noexcept;
  const ArraySlot* slot_of(std::uintptr_t array) noexcept;
  std::uint32_t* where_it_is_now(std::uint32_t* slot) noexcept;
  bool is_used(std::uintptr_t object) noexcept { return Space::test(space_.used(), space_.bit_of(object)); }

  HeapImpl& heap_;
  Space& space_;
  Rows<ArraySlot> slots_;  // by array
  Rows<HeapImpl::PageList*> changed_;
};

std::size_t HeapImpl::compact(StackState stack) noexcept {
  if (disallow_scopes != 0) stop("a collection in a DisallowCollectionScope");
  if (no_collection_scopes != 0 || is_busy_) return 0;
  collect(stack);
  finish_sweeping();
  const Pause pause(pauses_);
  make_all_young();  // marks are needed here, and addresses change
  const std::size_t before = page_bytes_;
  is_busy_ = true;
  Compactor(*this).run(stack);
  is_busy_ = false;
  return before - page_bytes_;
}

void Compactor::pin(Marker& marker, StackState stack) noexcept {
  marker.mark_roots();
  heap_.roots(RootKind::Weak).for_each([&](const void* root) {
    space_.mark(heap_.object_around(reinterpret_cast<std::uintptr_t>(root)));
  });
  {
    const Lock lock(locks().cross_roots);
    marker.mark_cross_roots();
  }
  if (stack == StackState::MayHoldPointers) marker.mark_stack();
  heap_.for_each_object([&](std::uintptr_t object, std::size_t) {
    if (!header_of(reinterpret_cast<const void*>(object)).is_in_construction()) return;
    marker.mark_object(object);
    scan_words(marker, reinterpret_cast<const std::uintptr_t*>(object), heap_.room_of(object) / sizeof(std::uintptr_t));
  });
}

void Compactor::find_slots(Marker& marker) noexcept {
  Rows<std::uint32_t*> arrays;
  Rows<std::uint32_t> others;
  const DecodingShape& shape = space_.shape();
  heap_.for_each_object([&](std::uintptr_t object, std::size_t) {
    arrays.set_size(0);
    others.set_size(0);
    marker.name_arrays(object, arrays, others);
    for (std::uint32_t* slot : arrays) {
      const std::uintptr_t array = shape.origin + (std::uintptr_t{*slot & shape.mask} << shape.shift);
      if (space_.page_around(array).is_movable) slots_.push({space_.granule_of(array), slot});
    }
    for (const std::uint32_t other : others) space_.mark(space_.object_at(other));
  });
  std::sort(slots_.begin(), slots_.end(), [](const ArraySlot& a, const ArraySlot& b) {
    return a.array != b.array ? a.array < b.array : a.slot < b.slot;
  });
  // A trace() may name one twice. Two Members for one array would both have to be updated; no container has two.
  slots_.set_size(static_cast<std::size_t>(std::unique(slots_.begin(), slots_.end()) - slots_.begin()));
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    if (slots_[i].array == slots_[i - 1].array) space_.mark(space_.object_at(slots_[i].array));
  }
}

const Compactor::ArraySlot* Compactor::slot_of(std::uintptr_t array) noexcept {
  const ArraySlot* found = std::lower_bound(slots_.begin(), slots_.end(), space_.granule_of(array),
                                            [](const ArraySlot& slot, std::uint32_t a) { return slot.array < a; });
  return found != slots_.end() && space_.object_at(found->array) == array ? found : nullptr;
}

// From the emptiest page to the fullest, as long as those before have room for all that lies there.
void Compactor::compact(HeapImpl::PageList& pages) noexcept {
  Rows<std::uint32_t> units;
  std::size_t room = 0;
  for (std::uint32_t unit = pages.first; unit != 0; unit = space_.page(unit).next) {
    Page& page = space_.page(unit);
    if (page.cursor != 0 || page.needs_sweep) return;  // not as the sweep has left it
    units.push(unit);
    room += page.cells - page.live_cells;
  }
  std::sort(units.begin(), units.end(),
            [&](std::uint32_t a, std::uint32_t b) { return space_.page(a).live_cells > space_.page(b).live_cells; });
  std::uint32_t* into = units.begin();
  std::uint32_t cell = 0;
  bool is_any_empty = false;
  for (std::size_t i = units.size(); i-- > 1;) {
    Page& page = space_.page(units[i]);
    room -= page.cells - page.live_cells;  // in those before
    if (room < page.live_cells) break;
    if (!may_all_leave(page)) continue;
    room -= page.live_cells;
    move_all(page, into, cell);
    is_any_empty = true;
  }
  if (is_any_empty) changed_.push(&pages);
}

// Called when the new addresses of arrays aren't needed any more.
void Compactor::drop_emptied() noexcept {
  for (HeapImpl::PageList* pages : changed_) {
    for (std::uint32_t unit = pages->first; unit != 0; unit = space_.page(unit).next) {
      Page& page = space_.page(unit);
      if (page.live_cells != 0) continue;
      if (heap_.is_generational_) heap_.note_old_places(page);
      poison(reinterpret_cast<void*>(space_.address_of(unit)), page.run_bytes);
    }
    heap_.drop_empty(pages->first);
    pages->current = pages->first;
  }
}

bool Compactor::may_all_leave(const Page& page) noexcept {
  for (std::uint32_t cell = 0; cell < page.cells; ++cell) {
    const std::uintptr_t array = heap_.object_of(page, cell);
    if (is_used(array) && (space_.is_marked(array) || slot_of(array) == nullptr)) return false;
  }
  return true;
}

// Into free cells of pages from `into` on, of which there are enough.
void Compactor::move_all(Page& page, std::uint32_t*& into, std::uint32_t& cell) noexcept {
  for (std::uint32_t i = 0; i < page.cells; ++i) {
    const std::uintptr_t array = heap_.object_of(page, i);
    if (!is_used(array)) continue;
    for (;; ++cell) {
      if (cell == space_.page(*into).cells) {
        ++into;
        cell = 0;
      }
      if (!is_used(heap_.object_of(space_.page(*into), cell))) break;
    }
    move(array, page, heap_.object_of(space_.page(*into), cell), space_.page(*into));
  }
}

void Compactor::move(std::uintptr_t array, Page& from, std::uintptr_t cell, Page& to) noexcept {
  auto* object = reinterpret_cast<void*>(array);
  auto* moved = reinterpret_cast<void*>(cell);
  const std::size_t cell_bytes = from.cell_bytes;
  if (heap_.discarded_bytes_ != 0) heap_.forget_discarded(cell - sizeof(CellHeader), cell + cell_bytes);
  unpoison(&header_of(moved), cell_bytes);
  header_of(moved) = header_of(object);
  types_by_index[header_of(object).type()].move(object, moved);
  const auto flip = [&](std::uintptr_t at) {
    space_.used()[space_.bit_of(at) / 64] ^= std::uint64_t{1} << (space_.bit_of(at) % 64);
  };
  flip(array);
  flip(cell);
  --from.live_cells;
  ++to.live_cells;
  heap_.pool_.died(object);
  heap_.pool_.made(moved, cell_bytes - sizeof(CellHeader));
  header_of(object).bits = 0;
  *static_cast<std::uint32_t*>(object) = space_.granule_of(cell);
  // All schemes count addresses in equal steps.
  std::uint32_t* slot = where_it_is_now(slot_of(array)->slot);
  *slot += static_cast<std::uint32_t>((cell - array) >> space_.shape().shift);
}

std::uint32_t* Compactor::where_it_is_now(std::uint32_t* slot) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(slot);
  if (!space_.contains(address) || !space_.page_around(address).is_movable) return slot;
  const std::uintptr_t object = heap_.start_in_page(address);
  if (object == 0 || header_of(reinterpret_cast<const void*>(object)).type() != 0) return slot;
  const std::uint32_t granule = *reinterpret_cast<const std::uint32_t*>(object);
  return reinterpret_cast<std::uint32_t*>(space_.object_at(granule) + (address - object));
}

}  // namespace tare::inline TARE_ABI::gc
