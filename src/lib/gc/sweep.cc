// What is dead is free: by words of bits where there are no destructors, later and by steps where there are.
#include <bit>
#include <utility>

#include "lib/gc/heap_impl.h"
#include "lib/gc/marker.h"
#include "lib/gc/types.h"
#include "tare/poison.h"

namespace tare::gc {

void HeapImpl::count_live() noexcept {
  live_bytes_ = live_objects_ = 0;
  for_each_page([&](Page& page) {
    const std::uint64_t* words = space_.marks() + space_.unit_of(page) * Space::kWordsOfUnit;
    const std::size_t count = words_of(page);
    std::size_t live = 0;
    for (std::size_t i = 0; i < count; ++i) live += static_cast<std::size_t>(std::popcount(words[i]));
    page.live_cells = static_cast<std::uint32_t>(live);
    live_objects_ += live;
    live_bytes_ += live * bytes_of_cells(page);
  });
}

void HeapImpl::sweep() noexcept {
  for (PageList& pages : lists_[static_cast<std::size_t>(Finalization::None)]) sweep_list(pages);
  for (PageList& pages : lists_[static_cast<std::size_t>(Finalization::Destructor)]) {
    for (std::uint32_t unit = pages.first; unit != 0; unit = space_.page(unit).next)
      space_.page(unit).needs_sweep = true;
    pages.current = pages.first;
  }
  sweep_large();
}

// What was marked is used, nothing else, and nothing is marked.
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
    marks[i] = 0;
  }
  page.cursor = page.hole_begin = page.hole_end = 0;
}

void HeapImpl::sweep_with_destructors(Page& page) noexcept {
  const bool was_busy = std::exchange(is_busy_, true);
  for (std::uint32_t cell = 0; cell < page.cells; ++cell) {
    const std::uintptr_t object = object_of(page, cell);
    if (!has_object(page, cell) || space_.is_marked(object)) continue;
    CellHeader& header = header_of(reinterpret_cast<void*>(object));
    const auto finalize = types_by_index[header.type()].finalize;
    if (finalize != nullptr && !header.is_in_construction()) finalize(reinterpret_cast<void*>(object));
    header.bits = 0;
  }
  sweep_words(page);
  page.needs_sweep = false;
  is_busy_ = was_busy;
}

void HeapImpl::sweep_list(PageList& pages) noexcept {
  std::uint32_t* link = &pages.first;
  while (*link != 0) {
    const std::uint32_t unit = *link;
    Page& page = space_.page(unit);
    if (page.needs_sweep) {
      sweep_with_destructors(page);
    } else {
      sweep_words(page);
    }
    if (page.live_cells == 0) {
      *link = page.next;
      drop_page(unit);
    } else {
      link = &page.next;
    }
  }
  pages.current = pages.first;
}

void HeapImpl::sweep_large() noexcept {
  std::uint32_t* link = &large_.first;
  while (*link != 0) {
    const std::uint32_t unit = *link;
    Page& page = space_.page(unit);
    if (page.live_cells != 0) {
      sweep_words(page);
      link = &page.next;
      continue;
    }
    if (page.has_destructors) sweep_with_destructors(page);
    *link = page.next;
    drop_page(unit);
  }
}

void HeapImpl::finish_sweeping() noexcept {
  if (!is_busy_) sweep_until(kNoDeadline);
}

// Destructors of what the last collection found dead, a page of them at least. False if time ran out.
bool HeapImpl::sweep_until(std::size_t deadline_ns) noexcept {
  bool is_first = true;
  for (PageList& pages : lists_[static_cast<std::size_t>(Finalization::Destructor)]) {
    // Pages before the current one are swept, and stay: they're full.
    bool is_any = false;
    for (std::uint32_t unit = pages.current; unit != 0; unit = space_.page(unit).next) {
      if (!space_.page(unit).needs_sweep) continue;
      if (!std::exchange(is_first, false) && is_late(deadline_ns)) return false;
      sweep_with_destructors(space_.page(unit));
      is_any = true;
    }
    if (is_any) drop_swept(pages);
  }
  return true;
}

// Empty pages behind the one that is allocated from.
void HeapImpl::drop_swept(PageList& pages) noexcept {
  std::uint32_t* link = &space_.page(pages.current).next;
  while (*link != 0) {
    const std::uint32_t unit = *link;
    Page& page = space_.page(unit);
    if (page.live_cells == 0) {
      *link = page.next;
      drop_page(unit);
    } else {
      link = &page.next;
    }
  }
}

}  // namespace tare::gc
