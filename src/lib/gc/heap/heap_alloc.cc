// The source of stretches of free cells and pages, and the steps when there are none.
#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/threads/stop.h"
#include "tare/internal/poison.h"

namespace tare::inline TARE_ABI::gc {

void* HeapCore::allocate_slowly(std::size_t size_class, Finalization finalization) noexcept {
  return static_cast<HeapImpl*>(this)->allocate_slowly(size_class, finalization);
}
void* HeapCore::allocate_large(std::size_t cell_bytes, Finalization finalization) noexcept {
  return static_cast<HeapImpl*>(this)->allocate_large(cell_bytes, finalization);
}
void HeapCore::add_prefinalizer(void* object, void (*call)(void* object)) noexcept {
  static_cast<HeapImpl*>(this)->add_prefinalizer({object, call});
}

// attempt() gives memory, or null and why. attempt() returns memory, or null and the reason. Between attempts all ways
// to make room are tried.
template <class Attempt>
void* HeapImpl::with_all_means(std::size_t bytes, Attempt&& attempt) noexcept {
  if (is_busy_) return nullptr;
  if (disallow_scopes != 0) stop("an allocation that may collect, in a DisallowCollectionScope");
  const bool may_collect = options_.collections == Collections::Automatic && no_collection_scopes == 0;
  const std::size_t before = full_collections();
  // Objects made during an incremental collection all survive it: another collection may still free them.
  const bool was_marking = is_marking();
  if (may_collect) collect_as_due();
  CageError error = CageError::None;
  void* memory = attempt(error);
  if (memory != nullptr) return memory;
  if (may_collect && (was_marking || full_collections() == before)) {
    collect(StackState::MayHoldPointers);
    finish_sweeping();
    memory = attempt(error);
    if (memory != nullptr) return memory;
  }
  release_all_pooled();
  if (options_.near_limit != nullptr) {
    const NearLimit limit{bytes, page_bytes_, options_.budget_bytes, page_bytes_ + bytes <= options_.budget_bytes};
    is_busy_ = true;
    options_.budget_bytes = options_.near_limit(options_.near_limit_context, limit);
    is_busy_ = false;
    if (may_collect) collect(StackState::MayHoldPointers);
    finish_sweeping();
    release_all_pooled();
  }
  return attempt(error);
}

void* HeapImpl::allocate_slowly(std::size_t size_class, Finalization finalization) noexcept {
  return with_all_means(cell::bytes_of(size_class), [&](CageError& error) -> void* {
    if (!next_stretch(size_class, finalization) && !add_page(size_class, finalization, error)) return nullptr;
    void* object = HeapCore::allocate(size_class, finalization);
    pool_.made(object, cell::bytes_of(size_class) - sizeof(CellHeader));
    return object;
  });
}

bool HeapImpl::next_stretch(std::size_t size_class, Finalization finalization) noexcept {
  PageList& pages = list(size_class, finalization);
  Stretch& stretch = stretches_[static_cast<std::size_t>(finalization)][size_class];
  if (FreeCells& free = free_cells_[static_cast<std::size_t>(finalization)][size_class]; free.first != 0) {
    const std::uintptr_t object = space_.object_at(free.first);
    free.first = *reinterpret_cast<const std::uint32_t*>(object);
    stretch = {object, object + cell::bytes_of(size_class)};
    if (is_marking()) mark_cells(stretch, cell::bytes_of(size_class));
    return true;
  }
  while (pages.current != 0) {
    Page& page = space_.page(pages.current);
    if (page.needs_sweep) sweep_page(page);
    if (next_stretch_of(page, stretch)) {
      page.is_changed = true;
      take_stretch(stretch, page.cell_bytes);
      return true;
    }
    pages.current = page.next;
  }
  return false;
}

CageResult<std::uint32_t> HeapImpl::take_pages(std::size_t bytes, Page::Kind kind) noexcept {
  if (bytes > options_.budget_bytes || page_bytes_ > options_.budget_bytes - bytes) return CageError::Exhausted;
  const bool is_pooled = kind == Page::Kind::Cells && bytes == cell::kUnitBytes && pooled_ != 0;
  CageResult<std::uint32_t> unit = pooled_;
  if (is_pooled) {
    pooled_ = space_.page(pooled_).next;
    pooled_bytes_ -= bytes;
  } else {
    unit = space_.take(bytes, *this, kind);
    if (!unit) return unit.error();
  }
  Page& page = space_.page(unit.value());
  const auto* begin = reinterpret_cast<const void*>(space_.address_of(unit.value()));
  if (!is_pooled) pool_.grow(begin, page.run_bytes);
  pool_.use_page(begin, page.run_bytes);
  page_bytes_ += page.run_bytes;
  page.needs_sweep = false;
  page.is_changed = true;
  page.cursor = page.hole_begin = page.hole_end = page.live_cells = 0;
  return unit;
}

// Puts a page at the front of its list. The list's other pages are full until the next collection, and aren't searched
// again.
bool HeapImpl::add_page(std::size_t size_class, Finalization finalization, CageError& error) noexcept {
  const std::size_t cell_bytes = cell::bytes_of(size_class);
  const std::size_t units = cell_bytes <= cell::kMostInOneUnit ? 1 : cell::kLargeUnits;
  const CageResult<std::uint32_t> unit = take_pages(units * cell::kUnitBytes, Page::Kind::Cells);
  error = unit.error();
  if (!unit) return false;
  Page& page = space_.page(unit.value());
  page.size_class = static_cast<std::uint8_t>(size_class);
  page.has_destructors = finalization == Finalization::Destructor;
  page.is_movable = finalization == Finalization::Movable;
  page.cell_bytes = static_cast<std::uint32_t>(cell_bytes);
  page.cells_a_byte =
      static_cast<std::uint32_t>(((std::uint64_t{1} << kReciprocalShift) + cell_bytes - 1) / cell_bytes);
  constexpr std::size_t kHead = cell::kFirstObject - sizeof(CellHeader);
  page.cells = static_cast<std::uint32_t>((units * cell::kUnitBytes - kHead) / cell_bytes);
  PageList& pages = list(size_class, finalization);
  page.next = pages.first;
  pages.first = unit.value();
  if (pool_.has_objects()) pages.current = unit.value();  // its cells are taken one by one
  poison(reinterpret_cast<void*>(space_.address_of(unit.value())), units * cell::kUnitBytes);

  Stretch& stretch = stretches_[static_cast<std::size_t>(finalization)][size_class];
  if (!next_stretch_of(page, stretch)) return false;
  take_stretch(stretch, cell_bytes);
  return true;
}

void HeapImpl::take_stretch(const Stretch& stretch, std::size_t cell_bytes) noexcept {
  allocated_bytes_ += stretch.end - stretch.next;
  if (is_marking()) mark_cells(stretch, cell_bytes);
}

void* HeapImpl::allocate_large(std::size_t cell_bytes, Finalization finalization) noexcept {
  constexpr std::size_t kHead = cell::kFirstObject - sizeof(CellHeader);
  const std::size_t bytes = cell_bytes + kHead;
  return with_all_means(bytes, [&](CageError& error) -> void* {
    const CageResult<std::uint32_t> unit = take_pages(bytes, Page::Kind::Large);
    error = unit.error();
    if (!unit) return nullptr;
    Page& page = space_.page(unit.value());
    page.has_destructors = finalization == Finalization::Destructor;
    page.is_movable = false;
    page.cells = 1;
    page.cursor = 1;
    page.cell_bytes = 0;  // run_bytes, which has more bits, is used instead
    page.next = large_.first;
    large_.first = unit.value();
    allocated_bytes_ += page.run_bytes;
    const std::uintptr_t object = space_.address_of(unit.value()) + cell::kFirstObject;
    header_of(reinterpret_cast<void*>(object)).bits = 0;
    pool_.made(reinterpret_cast<void*>(object), cell_bytes - sizeof(CellHeader));
    if (is_marking()) mark_cells({object, object + cell_bytes}, cell_bytes);
    return reinterpret_cast<void*>(object);
  });
}

// An empty page goes into the pool, or back to the cage.
void HeapImpl::drop_page(std::uint32_t unit) noexcept {
  Page& page = space_.page(unit);
#ifndef NDEBUG
  // Objects of its next heap would be taken for marked, and their references not be followed.
  for (std::size_t i = 0; i < words_of(page); ++i) {
    if (space_.marks()[unit * Space::kWordsOfUnit + i] != 0) stop("a page is dropped of which a part is marked");
  }
#endif
  const auto* begin = reinterpret_cast<const void*>(space_.address_of(unit));
  pool_.leave_page(begin);
  page_bytes_ -= page.run_bytes;
  if (discarded_bytes_ != 0) forget_discarded(space_.address_of(unit), space_.address_of(unit + page.units));
  if (page.kind == Page::Kind::Cells && page.units == 1 && pooled_bytes_ + page.run_bytes <= pool_limit_bytes_) {
    pooled_bytes_ += page.run_bytes;
    page.cells = 0;  // no object lies there
    page.next = pooled_;
    pooled_ = unit;
  } else {
    pool_.shrink(begin);
    space_.give_back(unit);
  }
}

}  // namespace tare::inline TARE_ABI::gc
