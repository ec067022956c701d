// The young generation, in groups with WriteBarrier::Generational: the objects made between two collections.
//
// Marks stay after a collection and mean that an object is old. Marking stops at old objects, so a collection of the
// young takes time in proportion to their survivors, with the objects that were stored into old ones since. Old objects
// are remembered whole: a list of places wouldn't show the present contents of a weak table or a variant. Large objects
// that can trace a part of themselves are remembered by parts. All survivors are old after either kind of collection,
// so the list is empty then.
#include <algorithm>

#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/heap/types.h"
#include "lib/gc/marking/marker.h"
#include "lib/gc/threads/stop.h"

namespace tare::inline TARE_ABI::gc {

namespace {

constexpr std::size_t kLeastByParts = 2048;  // bytes of a cell

// Each set bit also `shift` bits further up.
void or_shifted(std::uint64_t* words, std::size_t count, std::size_t shift) noexcept {
  const std::size_t whole = shift / 64;
  const std::size_t rest = shift % 64;
  for (std::size_t i = count; i-- > whole;) {
    std::uint64_t moved = words[i - whole] << rest;
    if (rest != 0 && i > whole) moved |= words[i - whole - 1] >> (64 - rest);
    words[i] |= moved;
  }
}

}  // namespace

bool HeapImpl::collect_young(StackState stack) noexcept {
  if (disallow_scopes != 0) stop("a collection in a DisallowCollectionScope");
  if (no_collection_scopes != 0 || is_busy_ || is_marking()) return false;
  const Pause pause(pauses_);
  finish_sweeping();
  tell_types();
  Marker marker(*this, mark_stack_, Marker::Sharing::None);
  marker.trace_remembered(remembered_, parts_);
  marker.mark_roots();
  marker.drain(kNoDeadline);
  end_marking(marker, Extent::Young, stack);
  return true;
}

void HeapImpl::remember(std::uintptr_t place) noexcept {
  const std::uintptr_t object = start_in_page(place);
  if (object == 0 || !space_.is_marked(object)) return;  // a young one, which has a part of its 16 bytes
  CellHeader& header = header_of(reinterpret_cast<void*>(object));
  if ((header.bits & CellHeader::kRemembered) != 0) return;
  const bool is_large = bytes_of_cells(space_.page_around(object)) >= kLeastByParts;
  if (is_large && types_by_index[header.type()].trace_part != nullptr && !header.is_in_construction()) {
    remember_part(space_.granule_of(std::max(object, place / kPartBytes * kPartBytes)));
    return;
  }
  header.bits |= CellHeader::kRemembered;
  remembered_.push(space_.granule_of(object));
}

void HeapImpl::remember_part(std::uint32_t granule) noexcept {
  if (!parts_.empty() && parts_.end()[-1] == granule) return;
  if (parts_.size() == parts_.capacity()) {
    std::sort(parts_.begin(), parts_.end());
    const std::uint32_t* end = std::unique(parts_.begin(), parts_.end());
    parts_.set_size(static_cast<std::size_t>(end - parts_.begin()));
    if (parts_.size() > parts_.capacity() / 2) parts_.grow();  // or it would be sorted for each of the last ones
  }
  parts_.push(granule);
}

// Before the whole heap is marked, when all is swept.
void HeapImpl::make_all_young() noexcept {
  if (!is_generational_) return;
  for (const std::uint32_t granule : remembered_) {
    header_of(reinterpret_cast<void*>(space_.object_at(granule))).bits &= ~CellHeader::kRemembered;
  }
  remembered_.set_size(0);
  parts_.set_size(0);
  for_each_page([&](Page& page) {
    std::fill_n(space_.marks() + space_.unit_of(page) * Space::kWordsOfUnit, words_of(page), 0);
    page.is_changed = true;
  });
}

// Freed by hand. An object made in its place is young, and found if the page isn't swept.
void HeapImpl::forget_freed(Page& page, std::uintptr_t object) noexcept {
  if (page.needs_sweep) sweep_page(page);
  space_.unmark(object);  // its old places stay until the next collection: a store there makes one more check
  page.is_changed = true;
  if (page.kind != Page::Kind::Large) return;
  // Its memory is freed: no thread may test its mark.
  const std::uint32_t granule = space_.granule_of(object);
  std::uint32_t* end = std::remove(remembered_.begin(), remembered_.end(), granule);
  remembered_.set_size(static_cast<std::size_t>(end - remembered_.begin()));
  const std::uint32_t units_end = space_.unit_of(page) + page.units;
  end = std::remove_if(parts_.begin(), parts_.end(), [&](std::uint32_t part) {
    const std::uint32_t unit = Space::unit_of_granule(part);
    return unit >= space_.unit_of(page) && unit < units_end;
  });
  parts_.set_size(static_cast<std::size_t>(end - parts_.begin()));
}

// For a page whose marks are the live objects: each 16 bytes that contain a part of an old object.
void HeapImpl::note_old_places(Page& page) noexcept {
  const std::size_t first = space_.unit_of(page) * Space::kWordsOfUnit;
  const std::size_t count = page.units * Space::kWordsOfUnit;
  std::uint64_t* places = space_.old_places() + first;
  if (page.live_cells == 0 || page.kind == Page::Kind::Large) {
    std::fill_n(places, count, page.live_cells == 0 ? 0 : ~std::uint64_t{0});
    return;
  }
  std::copy_n(space_.marks() + first, count, places);
  // An object may begin in the middle of 16 bytes: a size of 8 more than a multiple of 16 ends 4 bytes before the next
  // 16.
  const std::size_t object_bytes = page.cell_bytes - sizeof(CellHeader);
  const std::size_t wanted = (object_bytes + cell::kMarkGranuleBytes - 1) / cell::kMarkGranuleBytes;
  for (std::size_t covered = 1; covered < wanted;) {
    const std::size_t step = std::min(covered, wanted - covered);
    or_shifted(places, count, step);
    covered += step;
  }
}

// Since the last full collection: bytes that have become old, and bytes that may.
std::size_t HeapImpl::grown_bytes() const noexcept {
  return live_bytes_ - std::min(live_bytes_, full_live_bytes_) + allocated_bytes_;
}

}  // namespace tare::inline TARE_ABI::gc
