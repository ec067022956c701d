// Frees dead cells: by words of bits, and object by object if there are destructors. Later, page by page as they're
// allocated from, and the rest by steps before the next collection.
#include <bit>
#include <utility>

#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/heap/types.h"
#include "lib/gc/marking/marker.h"
#include "tare/internal/poison.h"

namespace tare::inline TARE_ABI::gc {

void HeapImpl::count_live() noexcept {
  live_bytes_ = live_objects_ = 0;
  for_each_page([&](Page& page) {
    if (page.is_changed) {
      const std::uint64_t* words = space_.marks() + space_.unit_of(page) * Space::kWordsOfUnit;
      const std::size_t count = words_of(page);
      std::size_t live = 0;
      for (std::size_t i = 0; i < count; ++i) live += static_cast<std::size_t>(std::popcount(words[i]));
      page.live_cells = static_cast<std::uint32_t>(live);
      if (is_generational_) note_old_places(page);
    }
    live_objects_ += page.live_cells;
    live_bytes_ += page.live_cells * bytes_of_cells(page);
  });
}

// Empty pages without destructors go now; others are swept before they're allocated from.
void HeapImpl::sweep() noexcept {
  for (auto& of_kind : lists_) {
    for (PageList& pages : of_kind) {
      for (std::uint32_t unit = pages.first; unit != 0; unit = space_.page(unit).next) {
        Page& page = space_.page(unit);
        if (!page.is_changed) continue;
        page.is_changed = !is_generational_;
        page.needs_sweep = page.has_destructors || page.live_cells != 0;
        if (!page.needs_sweep) sweep_words(page);
      }
      drop_empty(pages.first);
      pages.current = pages.first;
    }
  }
  sweep_large();
}

// Marked cells are used, and no others. Where there are no old objects nothing stays marked.
void HeapImpl::sweep_words(Page& page) noexcept {
#ifdef TARE_POISONS
  for (std::uint32_t cell = 0; cell < page.cells; ++cell) {
    const std::uintptr_t object = object_of(page, cell);
    if (!space_.is_marked(object)) poison(&header_of(reinterpret_cast<void*>(object)), bytes_of_cells(page));
  }
#endif
  const std::size_t first = space_.unit_of(page) * Space::kWordsOfUnit;
  const std::size_t count = words_of(page);
  std::uint64_t* marks = space_.marks() + first;
  std::uint64_t* used = space_.used() + first;
  for (std::size_t i = 0; i < count; ++i) {
    used[i] = marks[i];
    if (!is_generational_) marks[i] = 0;
  }
  page.cursor = page.hole_begin = page.hole_end = 0;
}

void HeapImpl::finalize_dead(Page& page) noexcept {
  const bool was_busy = std::exchange(is_busy_, true);
  for (std::uint32_t cell = 0; cell < page.cells; ++cell) {
    const std::uintptr_t object = object_of(page, cell);
    if (!has_object(page, cell) || space_.is_marked(object)) continue;
    CellHeader& header = header_of(reinterpret_cast<void*>(object));
    const auto finalize = types_by_index[header.type()].finalize;
    if (finalize != nullptr && !header.is_in_construction()) finalize(reinterpret_cast<void*>(object));
    header.bits = 0;
  }
  is_busy_ = was_busy;
}

void HeapImpl::sweep_page(Page& page) noexcept {
  if (page.has_destructors) finalize_dead(page);
  sweep_words(page);
  page.needs_sweep = false;
}

void HeapImpl::sweep_large() noexcept {
  for (std::uint32_t unit = large_.first; unit != 0; unit = space_.page(unit).next) {
    sweep_page(space_.page(unit));
    space_.page(unit).is_changed = !is_generational_;
  }
  drop_empty(large_.first);
}

void HeapImpl::finish_sweeping() noexcept {
  if (!is_busy_) sweep_until(kNoDeadline);
}

// Sweeps the pages that the last collection left, or a part of them. False if time ran out.
bool HeapImpl::sweep_until(std::size_t deadline_ns) noexcept {
  constexpr std::size_t kBetweenLooks = 512;  // pages without destructors, some 50 ns each
  std::size_t until_look = kBetweenLooks;
  for (auto& of_kind : lists_) {
    for (PageList& pages : of_kind) {
      // Pages before the current one are swept, and stay: they're full.
      bool is_any = false;
      for (std::uint32_t unit = pages.current; unit != 0; unit = space_.page(unit).next) {
        if (!space_.page(unit).needs_sweep) continue;
        if (until_look == 0) {
          if (is_late(deadline_ns)) return false;
          until_look = kBetweenLooks;
        }
        sweep_page(space_.page(unit));
        is_any = true;
        until_look = space_.page(unit).has_destructors ? 0 : until_look - 1;
      }
      if (is_any) drop_empty(space_.page(pages.current).next);
    }
  }
  return true;
}

// Pages of a list from this one on.
void HeapImpl::drop_empty(std::uint32_t& first) noexcept {
  std::uint32_t* link = &first;
  while (*link != 0) {
    const std::uint32_t unit = *link;
    Page& page = space_.page(unit);
    if (page.live_cells == 0 && !page.needs_sweep) {
      *link = page.next;
      drop_page(unit);
    } else {
      link = &page.next;
    }
  }
}

}  // namespace tare::inline TARE_ABI::gc
